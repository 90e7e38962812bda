package fuel

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// Go's linker leaves every run of zeros out of a module's data, which makes tens of thousands of segments. To read and to
// copy them takes a host longer than the zeros do, at each start and for each instance.

// bridged is the longest run of zeros that is written out to join two segments, in bytes.
const bridged = 32

const opI32Const = 0x41

// segment is bytes that a module's memory has from its start on.
type segment struct {
	at    uint32
	bytes []byte
}

// joinData joins neighbouring segments of a module whose memory is its own: it is zero where no segment says otherwise.
// Segments that lie over each other, that instructions may name, or that are not of the plain kind stay as they are.
func joinData(secs []section) error {
	own, at := false, -1
	for i, s := range secs {
		switch s.id {
		case secCount:
			return nil // instructions may name segments
		case secMemory:
			own = true
		case secData:
			at = i
		}
	}
	memories, err := imported(secs, importMem)
	if err != nil || !own || memories > 0 || at < 0 {
		return err
	}
	list, plain, err := segments(secs[at].body)
	if err != nil || !plain {
		return err
	}
	secs[at].body = encodeSegments(joined(list))
	return nil
}

// segments reads a data section and gives its segments in the order of their places. plain says that all of these are
// constant and in memory 0, and that none lies over another.
func segments(body []byte) (list []segment, plain bool, err error) {
	r := &reader{b: body}
	for range r.u32() {
		if r.byte() != 0 || r.byte() != opI32Const {
			return nil, false, r.fail("data")
		}
		s := segment{at: uint32(r.signed())}
		if r.byte() != opEnd {
			return nil, false, r.fail("data")
		}
		if s.bytes = r.take(r.u32()); r.err != nil {
			break
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b segment) int { return cmp.Compare(a.at, b.at) })
	end := uint64(0)
	for _, s := range list {
		if uint64(s.at) < end {
			return nil, false, r.end("data")
		}
		end = uint64(s.at) + uint64(len(s.bytes))
	}
	return list, true, r.end("data")
}

func joined(list []segment) (out []segment) {
	for _, s := range list {
		if n := len(out); n > 0 {
			last := &out[n-1]
			if gap := uint64(s.at) - uint64(last.at) - uint64(len(last.bytes)); gap <= bridged {
				last.bytes = append(append(last.bytes, make([]byte, gap)...), s.bytes...)
				continue
			}
		}
		s.bytes = append([]byte(nil), s.bytes...) // it may grow, and the module's bytes go on behind it
		out = append(out, s)
	}
	return out
}

func encodeSegments(list []segment) []byte {
	out := binary.AppendUvarint(nil, uint64(len(list)))
	for _, s := range list {
		out = append(out, 0, opI32Const)
		out = appendSigned(out, int64(int32(s.at)))
		out = append(out, opEnd)
		out = binary.AppendUvarint(out, uint64(len(s.bytes)))
		out = append(out, s.bytes...)
	}
	return out
}
