package world

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/clock"
)

// epoch is the zero of snowflakes, unix ms.
const epoch = 1420070400000

// Options of a world.
type Options struct {
	Dir     string // of the journal and of attachments; "" keeps everything in memory only
	Clock   clock.Clock
	Entropy io.Reader
	Seed    Seed
	// Watch is told of every change, in order, while the world is locked: it must not call back and not block.
	Watch func(Change)
	// Base is the public address that links to attachments begin with.
	Base func() string
}

// Change is one thing that someone who looks at the world should see. For is set when only one user may.
type Change struct {
	Type    string `json:"type"` // message, message_delete, channel, channel_delete, commands, typing, clock
	Channel string `json:"channel,omitempty"`
	For     string `json:"-"`
	Data    any    `json:"data,omitempty"`
}

// World is the state. All methods may be called from any goroutine.
type World struct {
	opt     Options
	journal *journal

	mu           sync.Mutex
	meta         Meta
	users        map[string]*User
	roles        map[string]*Role
	channels     map[string]*Channel
	messages     map[string]*Message
	lines        map[string][]string // channel → message ids, ascending
	interactions map[string]*Interaction
	commands     map[string]*AppCommand
	events       map[int64]*Event
	nonces       map[string]string // author and nonce → message id
	files        map[string][]byte // attachments, when there is no folder
	dirty        []entry
	changes      []Change
	wake         chan struct{} // an event was queued

	dropEvents, doubleEvents int
}

// Open loads the world of a folder, or plants a new one.
func Open(opt Options) (*World, error) {
	if opt.Entropy == nil {
		opt.Entropy = Entropy
	}
	if opt.Watch == nil {
		opt.Watch = func(Change) {}
	}
	if opt.Base == nil {
		opt.Base = func() string { return "http://127.0.0.1" }
	}
	w := &World{
		opt: opt, users: map[string]*User{}, roles: map[string]*Role{}, channels: map[string]*Channel{},
		messages: map[string]*Message{}, lines: map[string][]string{}, interactions: map[string]*Interaction{},
		commands: map[string]*AppCommand{}, events: map[int64]*Event{}, nonces: map[string]string{},
		files: map[string][]byte{}, wake: make(chan struct{}, 1),
	}
	if opt.Dir != "" {
		j, err := openJournal(opt.Dir, w.load)
		if err != nil {
			return nil, err
		}
		w.journal = j
	}
	if w.meta.Application == "" {
		return w, w.plant(opt.Seed, opt.Entropy)
	}
	w.catchUp()
	return w, w.settle()
}

// Close ends the journal. What was acknowledged is in it already.
func (w *World) Close() error {
	if w.journal == nil {
		return nil
	}
	return w.journal.file.Close()
}

// catchUp moves a movable clock to where the world's time already was.
func (w *World) catchUp() {
	floor := time.UnixMilli(max(w.meta.Clock, int64(w.meta.Last>>22)+epoch))
	if c, ok := w.opt.Clock.(interface{ Advance(time.Duration) }); ok {
		if d := floor.Sub(w.opt.Clock.Now()); d > 0 {
			c.Advance(d)
		}
	}
}

// Advance moves the clock of the world. It fails when that clock is the machine's.
func (w *World) Advance(d time.Duration) (time.Time, error) {
	c, ok := w.opt.Clock.(interface{ Advance(time.Duration) })
	if !ok {
		return time.Time{}, fmt.Errorf("this playground runs on the machine's clock, which nobody moves")
	}
	c.Advance(d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meta.Clock = w.now()
	w.change(Change{Type: "clock", Data: obj{"now": w.meta.Clock}})
	return time.UnixMilli(w.meta.Clock), w.flush()
}

func (w *World) now() int64 { return w.opt.Clock.Now().UnixMilli() }

// mint makes the next id: Discord's snowflake of this moment, or one more than the last.
func (w *World) mint() string {
	id := uint64(w.now()-epoch) << 22
	if id <= w.meta.Last {
		id = w.meta.Last + 1
	}
	w.meta.Last = id
	return strconv.FormatUint(id, 10)
}

// Meta returns what the world is about.
func (w *World) Meta() Meta {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meta
}

// Key is the application's signing key.
func (w *World) Key() ed25519.PrivateKey {
	seed, _ := hex.DecodeString(w.Meta().Seed)
	return ed25519.NewKeyFromSeed(seed)
}

// byAge orders ids as Discord does: by number.
func byAge(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return strings.Compare(a, b)
}

// put stores a record and notes it for the next flush.
func (w *World) put(r any) {
	key := w.index(r)
	v, err := json.Marshal(r)
	if err != nil {
		panic("playground: a record that cannot be encoded: " + err.Error()) // records are plain structs
	}
	w.dirty = append(w.dirty, entry{key, v})
}

func (w *World) index(r any) string {
	switch r := r.(type) {
	case *User:
		w.users[r.ID] = r
		return "user/" + r.ID
	case *Role:
		w.roles[r.ID] = r
		return "role/" + r.ID
	case *Channel:
		w.channels[r.ID] = r
		return "channel/" + r.ID
	case *Message:
		w.indexMessage(r)
		return "message/" + r.ID
	case *Interaction:
		w.interactions[r.ID] = r
		return "interaction/" + r.ID
	case *AppCommand:
		w.commands[r.ID] = r
		return "command/" + r.ID
	case *Event:
		w.events[r.N] = r
		return "event/" + strconv.FormatInt(r.N, 10)
	}
	panic(fmt.Sprintf("playground: no record kind for %T", r))
}

func (w *World) indexMessage(m *Message) {
	if w.messages[m.ID] == nil {
		ids := w.lines[m.Channel]
		at, _ := slices.BinarySearchFunc(ids, m.ID, byAge)
		w.lines[m.Channel] = slices.Insert(ids, at, m.ID)
	}
	w.messages[m.ID] = m
	if len(m.Nonce) > 0 {
		w.nonces[m.Author+" "+string(m.Nonce)] = m.ID
	}
}

// drop forgets a record.
func (w *World) drop(key string) { w.dirty = append(w.dirty, entry{Key: key}) }

func (w *World) change(c Change) { w.changes = append(w.changes, c) }

// flush commits what changed and tells the watcher. The caller holds the lock and returns the error to whoever asked.
func (w *World) flush() error {
	batch, changes := w.dirty, w.changes
	w.dirty, w.changes = nil, nil
	meta, err := json.Marshal(w.meta)
	if err != nil {
		return err
	}
	if w.journal != nil {
		if err := w.journal.append(append(batch, entry{"meta/", meta})); err != nil {
			return err
		}
	}
	for _, c := range changes {
		w.opt.Watch(c)
	}
	return nil
}

// load takes one record of the journal.
func (w *World) load(e entry) error {
	kind, _, _ := strings.Cut(e.Key, "/")
	if kind == "meta" {
		return json.Unmarshal(e.Value, &w.meta)
	}
	made := map[string]func() any{
		"user": func() any { return new(User) }, "role": func() any { return new(Role) },
		"channel": func() any { return new(Channel) }, "message": func() any { return new(Message) },
		"interaction": func() any { return new(Interaction) }, "command": func() any { return new(AppCommand) },
		"event": func() any { return new(Event) },
	}[kind]
	if made == nil {
		return fmt.Errorf("journal: unknown record %q", e.Key)
	}
	r := made()
	if err := json.Unmarshal(e.Value, r); err != nil {
		return fmt.Errorf("journal: %s: %w", e.Key, err)
	}
	w.index(r)
	return nil
}
