package actor

import (
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/mailru/easyjson/jlexer"
	"github.com/mailru/easyjson/jwriter"
)

// What crosses the core's boundary is encoded and decoded by generated code: reflection is ten times as slow in WASM as
// it is natively, and was most of what an event cost. The types are marked easyjson:json. Package easyjson itself stays
// out, because it would bring net/http into the core.
//
//go:generate go tool easyjson -pkg -no_std_marshalers -output_filename wire_easyjson.go .
//go:generate sed -i -e "/mailru.easyjson\"$/d" -e "/ easyjson.Marshaler$/d" wire_easyjson.go

// Encode gives the JSON of a value that has generated code.
func Encode(v encoder) ([]byte, error) {
	var w jwriter.Writer
	v.MarshalEasyJSON(&w)
	return w.BuildBytes()
}

type encoder interface{ MarshalEasyJSON(*jwriter.Writer) }

// Decode reads JSON into a value that has generated code.
func Decode(raw []byte, into Decoder) error {
	in := jlexer.Lexer{Data: raw}
	into.UnmarshalEasyJSON(&in)
	in.Consumed() // nothing may follow
	return in.Error()
}

// Decoder is a pointer to a type that has generated code.
type Decoder interface{ UnmarshalEasyJSON(*jlexer.Lexer) }

// Strings are written in the order of their keys, as encoding/json does: the same result is always the same bytes.
type Strings map[string]string

// MarshalEasyJSON writes an object.
func (m Strings) MarshalEasyJSON(w *jwriter.Writer) {
	w.RawByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			w.RawByte(',')
		}
		w.String(key)
		w.RawByte(':')
		w.String(m[key])
	}
	w.RawByte('}')
}

// UnmarshalEasyJSON reads an object of strings.
func (m *Strings) UnmarshalEasyJSON(in *jlexer.Lexer) {
	if in.IsNull() {
		in.Skip()
		return
	}
	*m = Strings{}
	in.Delim('{')
	for !in.IsDelim('}') {
		key := in.String()
		in.WantColon()
		(*m)[key] = in.String()
		in.WantComma()
	}
	in.Delim('}')
}

// memo keeps what was read last from some bytes, which are its key: nothing else depends on what came before.
type memo[T any] struct{ last atomic.Pointer[remembered[T]] }

type remembered[T any] struct {
	raw   string
	value T
}

func (m *memo[T]) read(raw []byte, read func([]byte) (T, error)) (T, error) {
	if last := m.last.Load(); last != nil && last.raw == string(raw) {
		return last.value, nil
	}
	v, err := read(raw)
	if err != nil {
		var zero T
		return zero, err
	}
	m.last.Store(&remembered[T]{string(raw), v})
	return v, nil
}

// lastConfig spares an instance of the core the decoding of the configuration: all actors of a deployment have the same
// one, and it comes with each request.
var lastConfig memo[Config]

func decodeConfig(raw []byte) (Config, error) {
	return lastConfig.read(raw, func(raw []byte) (c Config, err error) {
		err = json.Unmarshal(raw, &c)
		return c, err
	})
}

// UnmarshalEasyJSON reads the bytes that were read last without decoding them again.
func (c *Config) UnmarshalEasyJSON(in *jlexer.Lexer) {
	raw := in.Raw()
	if !in.Ok() {
		return
	}
	var err error
	if *c, err = decodeConfig(raw); err != nil {
		in.AddError(err)
	}
}

// MarshalEasyJSON writes it as encoding/json does.
func (c Config) MarshalEasyJSON(w *jwriter.Writer) { w.Raw(json.Marshal(c)) }
