package fuel

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MaxPages is the most memory that an instrumented module can have, in pages of 64 KiB: 96 MiB. Hosts replace an
// instance that holds more than 64 MiB after a call; the module's own maximum bounds it during one, which workerd
// cannot do from outside (a Worker has 128 MB, and one event must not take the others along).
const MaxPages = 1536

const secMemory = 5

// boundMemory gives the module's memory a maximum, or lowers the one it has.
func boundMemory(secs []section) error {
	for i, s := range secs {
		if s.id != secMemory {
			continue
		}
		r := &reader{b: s.body}
		count, flags, least := r.u32(), r.byte(), r.u32()
		most := uint64(MaxPages)
		if flags&1 != 0 {
			most = min(most, r.u32())
		}
		switch {
		case r.err != nil || count != 1 || flags > 1 || r.p != len(s.body):
			return errors.New("fuel: expected one 32-bit memory that is not shared")
		case least > most:
			return fmt.Errorf("fuel: the module starts with %d pages of memory, at most %d", least, most)
		}
		body := binary.AppendUvarint([]byte{1, 1}, least)
		secs[i].body = binary.AppendUvarint(body, most)
	}
	return nil
}
