package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"holdfast/actor"
	"holdfast/clock"
	"holdfast/worker/engine"
	"holdfast/worker/host/sqlite"
)

// Options configure a Host. Data, Engine and Secrets are needed.
type Options struct {
	Data    string // directory of the databases; made when missing
	Engine  engine.Engine
	Config  actor.Config
	Targets map[string]Target // "discord", "model:<name>"
	Secrets []Secret          // deployment secrets, one or, while one is replaced, two
	Least   map[string]int    // lowest valid n of "<kind>.<subject>"; an operator's is "operator.<name>"
	Clock   clock.Clock       // nil: the machine's
	Entropy io.Reader         // nil: crypto/rand
	Log     *slog.Logger      // nil: nothing
	Limits  Limits
	Key     []byte // encrypts the databases: nil for none, else sqlite.KeySize bytes

	// OnPoint is called at every point of docs/protocol.md: when is "before" or "after", what "commit" or "effect".
	// It may block, and it may call Kill.
	OnPoint func(when, what, point string)
}

// Limits bound what a Host holds. Zero values mean the defaults.
type Limits struct {
	Open    int // databases of idle actors that stay open: 128 (about 0.3 MiB each)
	Mailbox int // events that wait for one actor: 256
}

// Target is somewhere that effects go to.
type Target struct {
	BaseURL    string // no slash at its end
	Credential Secret
	Format     string // of a model: "anthropic" or "openai"
}

// Secret is text that no log, error or JSON shows.
type Secret string

const masked = "[secret]"

// String hides the secret.
func (Secret) String() string { return masked }

// GoString hides the secret.
func (Secret) GoString() string { return masked }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue(masked) }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(masked), nil }

func (o *Options) complete() error {
	switch {
	case o.Data == "":
		return errors.New("host: no data directory")
	case o.Engine == nil:
		return errors.New("host: no engine")
	case len(o.Secrets) < 1 || len(o.Secrets) > 2:
		return fmt.Errorf("host: %d deployment secrets, expected one or two", len(o.Secrets))
	}
	if o.Key != nil && len(o.Key) != sqlite.KeySize {
		return fmt.Errorf("host: a key of %d bytes, expected %d", len(o.Key), sqlite.KeySize)
	}
	for _, s := range o.Secrets {
		if len(s) < 16 {
			return errors.New("host: a deployment secret has less than 16 characters")
		}
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Entropy == nil {
		o.Entropy = rand.Reader
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Limits.Open <= 0 {
		o.Limits.Open = 128
	}
	if o.Limits.Mailbox <= 0 {
		o.Limits.Mailbox = 256
	}
	if o.OnPoint == nil {
		o.OnPoint = rigPoint()
	}
	return nil
}
