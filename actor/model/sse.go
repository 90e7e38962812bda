package model

import "bytes"

// sse takes a stream of server-sent events apart (https://html.spec.whatwg.org/multipage/server-sent-events.html).
// It keeps the data of each event only; lines end in LF, CR or CRLF; comments and other fields are skipped.
type sse struct {
	Line []byte `json:"line,omitempty"` // the unfinished line
	Data []byte `json:"data,omitempty"` // data lines of the unfinished event, each followed by LF
	CR   bool   `json:"cr,omitempty"`   // the last line ended in CR: a LF that follows belongs to it
}

// write takes the next bytes and calls event for each event that they complete.
func (s *sse) write(p []byte, event func([]byte)) {
	lf := true // there may be a LF ahead: a stream of lone CRs is not searched for it again and again
	for len(p) > 0 {
		if s.CR {
			s.CR = false
			if p[0] == '\n' {
				p = p[1:]
				continue
			}
		}
		i := -1
		if lf {
			i = bytes.IndexByte(p, '\n')
			lf = i >= 0
		}
		if i < 0 {
			i = bytes.IndexByte(p, '\r')
		} else if cr := bytes.IndexByte(p[:i], '\r'); cr >= 0 {
			i = cr
		}
		if i < 0 {
			s.Line = append(s.Line, p...)
			return
		}
		line := p[:i]
		if len(s.Line) > 0 {
			line = append(s.Line, line...)
		}
		s.CR = p[i] == '\r'
		p = p[i+1:]
		s.line(line, event)
		s.Line = s.Line[:0]
	}
}

func (s *sse) line(line []byte, event func([]byte)) {
	if len(line) == 0 {
		s.dispatch(event)
		return
	}
	value, ok := bytes.CutPrefix(bytes.TrimPrefix(line, []byte("\ufeff")), []byte("data:"))
	if !ok {
		return
	}
	s.Data = append(append(s.Data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
}

// dispatch hands over the event. Some servers put no empty line between events: lines that are each a JSON value or
// the end mark are handed over one by one by whoever reads them (see eachLine).
func (s *sse) dispatch(event func([]byte)) {
	if len(s.Data) == 0 {
		return
	}
	event(s.Data[:len(s.Data)-1])
	s.Data = s.Data[:0]
}

// end takes the stream's end for the end of its last line and event.
func (s *sse) end(event func([]byte)) {
	if len(s.Line) > 0 {
		s.line(s.Line, event)
		s.Line = nil
	}
	s.dispatch(event)
}
