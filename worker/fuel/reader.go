package fuel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// reader walks over bytes that may lie. After its first error it only gives zeroes.
type reader struct {
	b   []byte
	p   int
	err error
}

func (r *reader) bad(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d", what, r.p)
	}
}

// fail is the error so far, with the place where it came from.
func (r *reader) fail(where string) error {
	if r.err != nil {
		return fmt.Errorf("fuel: %s: %w", where, r.err)
	}
	return nil
}

// end is fail, or an error when bytes are left.
func (r *reader) end(where string) error {
	if r.err == nil && r.p != len(r.b) {
		r.bad("bytes are left over")
	}
	return r.fail(where)
}

func (r *reader) byte() byte {
	if r.err != nil || r.p >= len(r.b) {
		r.bad("unexpected end")
		return 0
	}
	r.p++
	return r.b[r.p-1]
}

func (r *reader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.b)-r.p) {
		r.bad("unexpected end")
		return nil
	}
	r.p += int(n)
	return r.b[r.p-int(n) : r.p]
}

// u32 reads an unsigned LEB128 of at most 32 bits.
func (r *reader) u32() uint64 {
	if r.err != nil {
		return 0
	}
	v, k := binary.Uvarint(r.b[r.p:])
	if k <= 0 || v > math.MaxUint32 {
		r.bad("bad integer")
		return 0
	}
	r.p += k
	return v
}

// signed reads a signed LEB128 of at most 32 bits.
func (r *reader) signed() int32 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b&0x80 == 0 {
			if b&0x40 != 0 {
				v -= 1 << (shift + 7)
			}
			if v != int64(int32(v)) {
				break
			}
			return int32(v)
		}
	}
	r.bad("bad integer")
	return 0
}

// leb steps over a LEB128 of any sign and at most 64 bits.
func (r *reader) leb() {
	for range 10 {
		if r.byte()&0x80 == 0 {
			return
		}
	}
	r.bad("bad integer")
}

// importDesc steps over what an import is of, and gives its kind.
func (r *reader) importDesc() byte {
	kind := r.byte()
	switch kind {
	case 0: // function: type index
		r.u32()
	case 1: // table: element type, limits
		r.byte()
		r.limits()
	case 2:
		r.limits()
	case importGlob: // value type, mutability
		r.take(2)
	default:
		r.bad(fmt.Sprintf("import of kind %d", kind))
	}
	return kind
}

func (r *reader) limits() {
	if flags := r.byte(); flags&1 != 0 {
		r.leb()
	}
	r.leb()
}

func appendSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}
