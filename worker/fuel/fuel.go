// Package fuel puts a step counter into a WebAssembly module, so that no call of it can run for ever.
//
// The counter is an exported mutable i64 global. Each loop header takes one from it and traps when it is below zero.
// Code that Go compiles to wasm enters every function that can call another through a loop header, and jumps back
// only to one, so neither a loop nor a recursion escapes it. Memory instructions of any length cost one step: the
// memory's own limit bounds those.
package fuel

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Global is the export name of the counter. A host sets it before each call.
const Global = "__fuel"

// Unlimited is the counter's value before a host sets it: the module's initialisation runs on it.
const Unlimited = 1 << 62

// The share of a call (spec 2.2). Most events of the core take some tens of thousands of steps. The costliest that was
// measured reads and cuts the longest transcript and draws the card of 15 calls with 480 KB of arguments each: 82 million,
// in half a second. A call that runs away ends in less than a second.
const (
	Base    = 128_000_000 // steps of any call
	PerByte = 64          // steps more for each byte of input
)

// For is what a call with so many bytes of input gets.
func For(inputBytes int) int64 { return Base + PerByte*int64(inputBytes) }

// ErrAlready means that the module has an export named Global.
var ErrAlready = errors.New("fuel: the module has a fuel counter already")

var header = []byte("\x00asm\x01\x00\x00\x00")

// Section ids of the binary format, https://webassembly.github.io/spec/core/binary/modules.html#sections
const (
	secCustom  = 0
	secImport  = 2
	secGlobal  = 6
	secExport  = 7
	secStart   = 8
	secCode    = 10
	secData    = 11
	secCount   = 12
	secTag     = 13
	importMem  = 2
	importGlob = 3
)

// order is the place of a section among the others; ids are not in order for the late additions.
var order = map[byte]int{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, secTag: 6, 6: 7, 7: 8, secStart: 9, 9: 10, secCount: 11, 10: 12, 11: 13}

type section struct {
	id   byte
	body []byte
}

// Instrument returns a copy of the module with the counter, a maximum for its memory, and its data in fewer pieces. Nothing
// else changes: no section is dropped, no function or global gets another index. A module that it does not understand in
// full is an error.
func Instrument(module []byte) ([]byte, error) {
	secs, err := split(module)
	if err != nil {
		return nil, err
	}
	if err := boundMemory(secs); err != nil {
		return nil, err
	}
	if err := joinData(secs); err != nil {
		return nil, err
	}
	index, err := addGlobal(&secs)
	if err != nil {
		return nil, err
	}
	if err := addExport(&secs, index); err != nil {
		return nil, err
	}
	check := checkpoint(index)
	for i, s := range secs {
		if s.id != secCode {
			continue
		}
		if secs[i].body, err = code(s.body, check); err != nil {
			return nil, err
		}
	}
	return join(secs), nil
}

// checkpoint is what every loop header does: take one, trap below zero.
func checkpoint(index uint64) []byte {
	var c []byte
	get := binary.AppendUvarint([]byte{opGlobalGet}, index)
	c = append(c, get...)
	c = append(c, opI64Const, 1, opI64Sub, opGlobalSet)
	c = binary.AppendUvarint(c, index)
	c = append(c, get...)
	return append(c, opI64Const, 0, opI64LtS, opIf, blockEmpty, opUnreachable, opEnd)
}

func split(module []byte) ([]section, error) {
	if len(module) < len(header) || string(module[:len(header)]) != string(header) {
		return nil, errors.New("fuel: not a WebAssembly 1.0 module")
	}
	r := &reader{b: module, p: len(header)}
	var secs []section
	last := 0
	for r.p < len(r.b) && r.err == nil {
		id := r.byte()
		body := r.take(r.u32())
		if id != secCustom {
			if order[id] <= last {
				return nil, fmt.Errorf("fuel: section %d is unknown or out of order", id)
			}
			last = order[id]
			if !plausible(id, body) {
				r.bad("a vector longer than its section")
			}
		}
		secs = append(secs, section{id, body})
	}
	return secs, r.fail("sections")
}

// plausible says whether a section can hold as many entries, of at least a byte each, as it says.
func plausible(id byte, body []byte) bool {
	if id == secStart || id == secCount {
		return true // a number alone
	}
	n, k := binary.Uvarint(body)
	return k > 0 && n <= uint64(len(body)-k)
}

func join(secs []section) []byte {
	n := len(header)
	for _, s := range secs {
		n += len(s.body) + 6
	}
	out := append(make([]byte, 0, n), header...)
	for _, s := range secs {
		out = append(out, s.id)
		out = binary.AppendUvarint(out, uint64(len(s.body)))
		out = append(out, s.body...)
	}
	return out
}

// body gives the body of a section, which it inserts with an empty vector where the module has none.
func body(secs *[]section, id byte) *[]byte {
	at := len(*secs)
	for i := range *secs {
		s := &(*secs)[i]
		if s.id == id {
			return &s.body
		}
		if s.id != secCustom && order[s.id] > order[id] {
			at = i
			break
		}
	}
	*secs = append(*secs, section{})
	copy((*secs)[at+1:], (*secs)[at:])
	(*secs)[at] = section{id, []byte{0}}
	return &(*secs)[at].body
}

// addGlobal appends the counter to the module's own globals, so that no other index moves, and gives its index.
func addGlobal(secs *[]section) (uint64, error) {
	before, err := imported(*secs, importGlob)
	if err != nil {
		return 0, err
	}
	b := body(secs, secGlobal)
	n, err := grow(b, func(out []byte) []byte {
		out = append(out, typeI64, mutable, opI64Const)
		out = appendSigned(out, Unlimited)
		return append(out, opEnd)
	})
	return before + n, err
}

func addExport(secs *[]section, index uint64) error {
	b := body(secs, secExport)
	r := &reader{b: *b}
	for range r.u32() {
		if string(r.take(r.u32())) == Global {
			return ErrAlready
		}
		r.byte()
		r.u32()
		if r.err != nil {
			break
		}
	}
	if err := r.fail("exports"); err != nil {
		return err
	}
	_, err := grow(b, func(out []byte) []byte {
		out = append(out, byte(len(Global)))
		out = append(out, Global...)
		return binary.AppendUvarint(append(out, exportGlobal), index)
	})
	return err
}

// grow adds one entry to the vector that b is, and gives how many there were.
func grow(b *[]byte, entry func([]byte) []byte) (uint64, error) {
	r := &reader{b: *b}
	n := r.u32()
	if err := r.fail("vector"); err != nil {
		return 0, err
	}
	out := binary.AppendUvarint(nil, n+1)
	out = append(out, r.b[r.p:]...)
	*b = entry(out)
	return n, nil
}

// imported counts the imports of a kind.
func imported(secs []section, kind byte) (n uint64, err error) {
	for _, s := range secs {
		if s.id != secImport {
			continue
		}
		r := &reader{b: s.body}
		for range r.u32() {
			r.take(r.u32())
			r.take(r.u32())
			if r.importDesc() == kind {
				n++
			}
			if r.err != nil {
				break
			}
		}
		return n, r.fail("imports")
	}
	return 0, nil
}
