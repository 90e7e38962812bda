package tools

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"holdfast/runner/protocol"
)

// What a model sees of a long output, in bytes. Both and the mark between them stay below protocol.MaxSummary.
const (
	summaryHead = 18 << 10
	summaryTail = 10 << 10
)

// shorten keeps the head and the tail of a text, cut at ends of lines, and says what is missing between them.
func shorten(text string) string {
	if len(text) <= summaryHead+summaryTail {
		return text
	}
	head, tail := text[:summaryHead], text[len(text)-summaryTail:]
	if i := strings.LastIndexByte(head, '\n'); i > summaryHead/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < summaryTail/2 {
		tail = tail[i+1:]
	}
	head, tail = wholeEnd(head), wholeStart(tail)
	return head + omitted(text[len(head):len(text)-len(tail)]) + tail
}

func omitted(middle string) string {
	if n := strings.Count(middle, "\n"); n > 0 {
		return fmt.Sprintf("\n… %d lines omitted (%d bytes) …\n\n", n, len(middle))
	}
	return fmt.Sprintf("\n… %d bytes omitted …\n", len(middle))
}

// wholeEnd and wholeStart drop a rune that a cut has broken.
func wholeEnd(s string) string {
	for i := len(s) - 1; i >= 0 && i >= len(s)-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			if !utf8.FullRuneInString(s[i:]) {
				return s[:i]
			}
			break
		}
	}
	return s
}

func wholeStart(s string) string {
	for i := 0; i < utf8.UTFMax && i < len(s); i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// collector takes an endless output and keeps its head and tail, protocol.MaxPayload bytes together.
type collector struct {
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // where the ring's oldest byte is
	total   int64
	dropped int64 // bytes
	lines   int64 // newlines among the dropped
	last    []byte
}

const (
	keepHead = 640 << 10
	keepTail = protocol.MaxPayload - keepHead - 1<<10
)

func (c *collector) Write(p []byte) (int, error) {
	c.total += int64(len(p))
	c.noteLine(p)
	rest := p
	if room := keepHead - len(c.head); room > 0 {
		n := min(room, len(rest))
		c.head, rest = append(c.head, rest[:n]...), rest[n:]
	}
	for len(rest) > 0 {
		if room := keepTail - len(c.tail); room > 0 {
			n := min(room, len(rest))
			c.tail, rest = append(c.tail, rest[:n]...), rest[n:]
			continue
		}
		n := min(keepTail-c.next, len(rest))
		old := c.tail[c.next : c.next+n]
		c.dropped += int64(n)
		c.lines += int64(bytes.Count(old, []byte{'\n'}))
		copy(old, rest[:n])
		c.next, rest = (c.next+n)%keepTail, rest[n:]
	}
	return len(p), nil
}

// noteLine keeps the newest line that has a text, for progress.
func (c *collector) noteLine(p []byte) {
	p = p[max(0, len(p)-1000):]
	if i := bytes.LastIndexByte(bytes.TrimRight(p, "\r\n"), '\n'); i >= 0 {
		p = p[i+1:]
	}
	if line := bytes.TrimSpace(p); len(line) > 0 {
		c.last = append(c.last[:0], line[:min(len(line), 200)]...)
	}
}

// text is all that was kept, as valid UTF-8 without NUL bytes.
func (c *collector) text() string {
	var b strings.Builder
	b.Write(c.head)
	if c.dropped > 0 {
		fmt.Fprintf(&b, "\n… %d lines omitted (%d bytes) …\n\n", c.lines, c.dropped)
	}
	b.Write(c.tail[c.next:])
	b.Write(c.tail[:c.next])
	return clean(b.String())
}

func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
