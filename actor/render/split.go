package render

import (
	"strings"
	"unicode/utf8"
)

// fence is the only mark of a code block that Discord knows, and it knows it anywhere in a line.
const fence = "```"

// maxInfo bounds the info string that is repeated when a block is reopened, in units.
const maxInfo = 500

// piece is one chunk: a part of the text as it is, between the fences that were added.
type piece struct {
	open, body, end string
}

// Split cuts a text into messages (spec 6.4). Every chunk has at most 2,000 UTF-16 code units, added fences
// included. A block that is cut is closed, and reopened with its info string. Cuts come at a paragraph, line,
// sentence, word or character, in that order. The chunks without the added fences, joined, are the text exactly.
// No chunk is empty; none of a normalized text is blank.
func Split(text string) []string {
	ps := pieces(text, MaxContent)
	out := make([]string, len(ps))
	for i, p := range ps {
		out[i] = p.open + p.body + p.end
	}
	return out
}

// pieces splits; the first chunk may have first units, the others MaxContent.
func pieces(text string, first int) []piece {
	var out []piece
	st := state{}
	limit := first
	for text != "" {
		p := piece{}
		if st.fenced {
			p.open = fence + st.info + "\n"
		}
		n, after := cut(text, st, limit-units(p.open))
		p.body, text, st = text[:n], text[n:], after
		if st.fenced {
			p.end = st.closing(p.body)
		}
		out = append(out, p)
		limit = MaxContent
	}
	return out
}

// state is where a text stands: in a code block, and with which info string.
type state struct {
	fenced bool
	info   string
}

func (st state) closing(body string) string {
	if strings.HasSuffix(body, "\n") {
		return fence
	}
	return "\n" + fence
}

// Levels of a place to cut, the best first.
const (
	atParagraph = iota // outside of blocks; also before and after a block
	atLine             // outside of blocks
	atBlockLine
	atSentence
	atWord
	atCharacter
	atAnything // would leave an empty block, or tear a character
	levels
)

// place is a possible cut: after n bytes, with the state there.
type place struct {
	n  int
	st state
}

// cut finds how much of text goes into a chunk with room for so many units.
func cut(text string, st state, room int) (int, state) {
	best := [levels]place{}
	s := scanner{text: text, st: st}
	for s.step() {
		cost := 0
		if s.st.fenced {
			cost = units(s.st.closing(text[:s.at]))
		}
		if s.used > room {
			break
		}
		if s.used+cost > room {
			continue
		}
		if s.at == len(text) {
			return s.at, s.st
		}
		if level := s.level(); s.used >= least(level, room) {
			best[level] = place{s.at, s.st}
		}
	}
	for _, p := range best {
		if p.n > 0 {
			return p.n, p.st
		}
	}
	return s.at, s.st // unreachable while a step is far shorter than the room
}

// least is how much of the room a cut must fill: a paragraph's end at the very beginning is no good place. It is
// more than the longest blank of a normalized text, so that no chunk is blank.
func least(level, room int) int {
	switch level {
	case atParagraph:
		return room / 3
	case atCharacter, atAnything:
		return 1
	}
	return room / 2
}

// scanner walks over a text, a fence or a character at a time.
type scanner struct {
	text    string
	st      state
	at      int // bytes
	used    int // units
	infoEnd int // a cut before it would lie in the line that opens a block
}

func (s *scanner) step() bool {
	rest := s.text[s.at:]
	if rest == "" {
		return false
	}
	if !strings.HasPrefix(rest, fence) {
		r, w := utf8.DecodeRuneInString(rest)
		s.at += w
		s.used += runeUnits(r)
		return true
	}
	s.at += len(fence)
	s.used += len(fence)
	s.st = state{fenced: !s.st.fenced}
	s.infoEnd = s.at
	if s.st.fenced {
		line, _, ended := strings.Cut(rest[len(fence):], "\n")
		if ended && !strings.Contains(line, "`") {
			s.infoEnd = s.at + len(line) + 1
			if units(line) <= maxInfo {
				s.st.info = line
			}
		}
	}
	return true
}

// level says how good a cut here would be.
func (s *scanner) level() int {
	before, next := s.text[:s.at], s.text[s.at:]
	outside := !s.st.fenced
	switch {
	case joinsBefore(s.text, s.at), s.emptyBlock(next):
		return atAnything
	case outside && strings.HasPrefix(next, fence) && strings.HasSuffix(before, "\n"):
		return atParagraph
	case strings.HasSuffix(before, "\n") && next[0] != '\n':
		switch {
		case !outside:
			return atBlockLine
		case strings.HasSuffix(before, "\n\n"), strings.HasSuffix(before, fence+"\n"):
			return atParagraph
		}
		return atLine
	case next[0] == ' ' || next[0] == '\n' || next[0] == '\t':
		return atCharacter
	case outside && sentenceEnd(before):
		return atSentence
	case strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t"):
		return atWord
	}
	return atCharacter
}

// emptyBlock: a cut here would leave a block without content on one of its sides.
func (s *scanner) emptyBlock(next string) bool {
	if !s.st.fenced {
		return false
	}
	if s.at < s.infoEnd || strings.TrimSpace(s.text[max(s.infoEnd, s.at-maxBlank):s.at]) == "" && s.at-s.infoEnd < maxBlank {
		return true
	}
	if len(next) > maxBlank {
		next = next[:maxBlank]
	}
	return strings.HasPrefix(strings.TrimLeft(next, " \t\n"), fence)
}

func sentenceEnd(before string) bool {
	before, ok := strings.CutSuffix(before, " ")
	if !ok {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, `"')*_`))
	return strings.ContainsRune(".!?…。！？:", r)
}
