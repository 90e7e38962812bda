package store

import (
	"encoding/binary"
	"fmt"
	"math"
)

// The binary form in which statements and rows cross the WASM boundary (docs/protocol.md, "SQL seam"). Little endian.
//
//	request:  u32 length of SQL, SQL, u32 number of arguments, values
//	reply:    u8 0, u32 columns, u32 rows, values row by row
//	          u8 1, u32 length of code, code, u32 length of message, message
//	value:    u8 kind, then nothing (null), i64 (integer), f64 (real), or u32 length and bytes (text, blob)
const (
	kindNull byte = iota
	kindInt
	kindReal
	kindText
	kindBlob
)

// CheckLimits gives the error of a statement that a host must refuse before running it, or nil.
func CheckLimits(sql string, args []Value) error {
	if len(sql) > MaxSQL {
		return &Error{TooBig, fmt.Sprintf("statement of %d bytes, at most %d", len(sql), MaxSQL)}
	}
	if len(args) > MaxParams {
		return &Error{TooBig, fmt.Sprintf("%d parameters, at most %d", len(args), MaxParams)}
	}
	for i, a := range args {
		switch v := a.(type) {
		case nil, float64:
		case int64:
			if v > MaxInt || v < -MaxInt {
				return &Error{Misuse, fmt.Sprintf("parameter %d: integer %d is beyond 2^53; store ids as text", i+1, v)}
			}
		case string:
			if len(v) > MaxValue {
				return &Error{TooBig, fmt.Sprintf("parameter %d: %d bytes, at most %d", i+1, len(v), MaxValue)}
			}
		case []byte:
			if len(v) > MaxValue {
				return &Error{TooBig, fmt.Sprintf("parameter %d: %d bytes, at most %d", i+1, len(v), MaxValue)}
			}
		default:
			return &Error{Misuse, fmt.Sprintf("parameter %d has Go type %T", i+1, a)}
		}
	}
	return nil
}

// AppendRequest appends the binary form of a statement to b.
func AppendRequest(b []byte, sql string, args []Value) []byte {
	b = appendBytes(b, sql)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(args)))
	for _, a := range args {
		b = appendValue(b, a)
	}
	return b
}

// ParseRequest reads what AppendRequest wrote.
func ParseRequest(b []byte) (sql string, args []Value, err error) {
	r := reader{b: b}
	sql = string(r.bytes())
	n := r.count()
	args = make([]Value, 0, n)
	for range n {
		args = append(args, r.value())
	}
	return sql, args, r.err
}

// AppendReply appends the binary form of a statement's outcome to b. An error that is no *Error gets the code io.
func AppendReply(b []byte, rows []Row, err error) []byte {
	if err != nil {
		e, ok := err.(*Error)
		if !ok {
			e = &Error{IO, err.Error()}
		}
		b = append(b, 1)
		b = appendBytes(b, string(e.Code))
		return appendBytes(b, e.Message)
	}
	cols := 0
	if len(rows) > 0 {
		cols = len(rows[0])
	}
	b = append(b, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(cols))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(rows)))
	for _, row := range rows {
		for _, v := range row {
			b = appendValue(b, v)
		}
	}
	return b
}

// ParseReply reads what AppendReply wrote; a statement's failure comes back as *Error.
func ParseReply(b []byte) ([]Row, error) {
	r := reader{b: b}
	if r.byte() == 1 {
		e := &Error{Code: Code(r.bytes()), Message: string(r.bytes())}
		if r.err != nil {
			return nil, r.err
		}
		return nil, e
	}
	cols, n := r.count(), r.count()
	rows := make([]Row, 0, n)
	for range n {
		if r.err != nil {
			break // a lying header costs at most one row
		}
		row := make(Row, cols)
		for i := range row {
			row[i] = r.value()
		}
		rows = append(rows, row)
	}
	return rows, r.err
}

func appendBytes[T ~string | ~[]byte](b []byte, s T) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

func appendValue(b []byte, v Value) []byte {
	switch v := v.(type) {
	case int64:
		return binary.LittleEndian.AppendUint64(append(b, kindInt), uint64(v))
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, kindReal), math.Float64bits(v))
	case string:
		return appendBytes(append(b, kindText), v)
	case []byte:
		return appendBytes(append(b, kindBlob), v)
	}
	return append(b, kindNull)
}

var errShort = &Error{Misuse, "the SQL message ends too early"}

type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errShort
		return make([]byte, min(max(n, 0), 8))
	}
	p := r.b[:n]
	r.b = r.b[n:]
	return p
}

func (r *reader) byte() byte    { return r.take(1)[0] }
func (r *reader) bytes() []byte { return r.take(int(binary.LittleEndian.Uint32(r.take(4)))) }

// count reads a number of things that each take at least one byte, so a lying count cannot make us allocate.
func (r *reader) count() int {
	n := int(binary.LittleEndian.Uint32(r.take(4)))
	if n > len(r.b) {
		r.err = errShort
		return 0
	}
	return n
}

func (r *reader) value() Value {
	switch r.byte() {
	case kindNull:
		return nil
	case kindInt:
		return int64(binary.LittleEndian.Uint64(r.take(8)))
	case kindReal:
		return math.Float64frombits(binary.LittleEndian.Uint64(r.take(8)))
	case kindText:
		return string(r.bytes())
	case kindBlob:
		return append([]byte{}, r.bytes()...)
	}
	r.err = errShort
	return nil
}
