package fuel

import (
	"encoding/binary"
	"fmt"
)

// Opcodes, https://webassembly.github.io/spec/core/binary/instructions.html
const (
	opUnreachable = 0x00
	opBlock       = 0x02
	opLoop        = 0x03
	opIf          = 0x04
	opEnd         = 0x0b
	opBrTable     = 0x0e
	opGlobalGet   = 0x23
	opGlobalSet   = 0x24
	opI64Const    = 0x42
	opI64LtS      = 0x53
	opI64Sub      = 0x7d
	opMisc        = 0xfc

	blockEmpty   = 0x40
	typeI64      = 0x7e
	mutable      = 1
	exportGlobal = 3
)

// code rewrites the code section: check goes behind each loop header.
func code(sec, check []byte) ([]byte, error) {
	r := &reader{b: sec}
	n := r.u32()
	out := binary.AppendUvarint(make([]byte, 0, len(sec)+len(sec)/4), n)
	var fn []byte
	for i := range n {
		body := r.take(r.u32())
		if err := r.fail("code"); err != nil {
			return nil, err
		}
		var err error
		if fn, err = function(fn[:0], body, check); err != nil {
			return nil, fmt.Errorf("function %d: %w", i, err)
		}
		out = binary.AppendUvarint(out, uint64(len(fn)))
		out = append(out, fn...)
	}
	return out, r.end("code")
}

func function(out, body, check []byte) ([]byte, error) {
	r := &reader{b: body}
	for range r.u32() { // groups of locals: count, type
		r.u32()
		r.byte()
		if r.err != nil {
			break
		}
	}
	copied := 0
	for r.p < len(r.b) && r.err == nil {
		at := r.p
		op := r.byte()
		if err := r.immediates(op); err != nil {
			return nil, fmt.Errorf("%w at byte %d", err, at)
		}
		if op == opLoop {
			out = append(out, body[copied:r.p]...)
			out = append(out, check...)
			copied = r.p
		}
	}
	return append(out, body[copied:]...), r.fail("function body")
}

// immediates steps over what follows an opcode. What Go's compiler does not emit today (exceptions, threads, vector
// instructions, tail calls) is an error rather than a guess.
func (r *reader) immediates(op byte) error {
	switch {
	case op == opBlock || op == opLoop || op == opIf, op == 0x41, op == opI64Const:
		r.leb() // block types and constants are signed
	case op <= 0x01 || op == 0x05 || op == opEnd || op == 0x0f || op == 0x1a || op == 0x1b || (op >= 0x45 && op <= 0xc4) || op == 0xd1:
	case op == 0x0c || op == 0x0d || op == 0x10 || (op >= 0x20 && op <= 0x26) || op == 0xd2:
		r.u32()
	case op == opBrTable:
		for range r.u32() {
			if r.u32(); r.err != nil {
				break
			}
		}
		r.u32()
	case op == 0x11 || (op >= 0x28 && op <= 0x3e):
		r.u32()
		r.leb() // a memory offset may have 64 bits
	case op == 0x3f || op == 0x40 || op == 0xd0:
		r.byte()
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op == 0x1c:
		r.take(r.u32())
	case op == opMisc:
		return r.misc()
	default:
		return fmt.Errorf("fuel: opcode 0x%02x is not supported", op)
	}
	return nil
}

// misc steps over saturating conversions (0 to 7), bulk memory and table instructions (8 to 17).
func (r *reader) misc() error {
	sub := r.u32()
	switch {
	case sub <= 7:
	case sub == 8 || sub == 10 || sub == 12 || sub == 14: // two indices
		r.u32()
		r.u32()
	case sub <= 17:
		r.u32()
	default:
		return fmt.Errorf("fuel: opcode 0xfc %d is not supported", sub)
	}
	return nil
}
