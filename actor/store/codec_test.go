package store

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestRequestRoundTrip(t *testing.T) {
	args := []Value{nil, int64(0), int64(-1 << 53), int64(1 << 53), 1.5, math.Inf(-1), "", "ünï\x00code", []byte{}, []byte{0, 255}}
	sql, got, err := ParseRequest(AppendRequest(nil, "SELECT ?", args))
	if err != nil || sql != "SELECT ?" || !reflect.DeepEqual(got, args) {
		t.Fatalf("got %q %#v %v, want %#v", sql, got, err, args)
	}
}

func TestReplyRoundTrip(t *testing.T) {
	rows := []Row{{int64(1), "a", nil}, {int64(2), []byte{1}, 0.5}}
	got, err := ParseReply(AppendReply(nil, rows, nil))
	if err != nil || !reflect.DeepEqual(got, rows) {
		t.Fatalf("got %#v %v, want %#v", got, err, rows)
	}
	if got, err := ParseReply(AppendReply(nil, nil, nil)); err != nil || len(got) != 0 {
		t.Fatalf("no rows: got %#v %v", got, err)
	}
}

func TestReplyCarriesTheCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{{&Error{Full, "no room"}, Full}, {errors.New("something"), IO}} {
		_, err := ParseReply(AppendReply(nil, nil, c.err))
		var e *Error
		if !errors.As(err, &e) || e.Code != c.want {
			t.Errorf("%v: got %v, want code %s", c.err, err, c.want)
		}
	}
}

func TestCheckLimits(t *testing.T) {
	for _, c := range []struct {
		name string
		sql  string
		args []Value
		want Code
	}{
		{"fine", "SELECT 1", []Value{nil, int64(1), "a", []byte("b"), 1.0}, ""},
		{"long statement", strings.Repeat("x", MaxSQL+1), nil, TooBig},
		{"many parameters", "", make([]Value, MaxParams+1), TooBig},
		{"big integer", "", []Value{int64(MaxInt + 1)}, Misuse},
		{"small integer", "", []Value{int64(-MaxInt - 1)}, Misuse},
		{"long text", "", []Value{strings.Repeat("x", MaxValue+1)}, TooBig},
		{"long blob", "", []Value{make([]byte, MaxValue+1)}, TooBig},
		{"a type of Go", "", []Value{true}, Misuse},
	} {
		err := CheckLimits(c.sql, c.args)
		var e *Error
		if errors.As(err, &e); (e == nil) != (c.want == "") || e != nil && e.Code != c.want {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// Whatever the bytes are, parsing them ends, allocates no more than they could hold, and does not panic.
func FuzzParse(f *testing.F) {
	f.Add(AppendRequest(nil, "SELECT ?", []Value{int64(1), "x", []byte("y"), nil, 2.5}))
	f.Add(AppendReply(nil, []Row{{int64(1), "a"}}, nil))
	f.Add(AppendReply(nil, nil, &Error{Full, "no room"}))
	f.Add([]byte{0, 255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if sql, args, err := ParseRequest(b); err == nil {
			again, more, err := ParseRequest(AppendRequest(nil, sql, args))
			if err != nil || again != sql || len(more) != len(args) {
				t.Fatalf("a parsed request does not survive a round trip: %v", err)
			}
		}
		ParseReply(b)
	})
}
