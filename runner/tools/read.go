package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"holdfast/actor/errs"
	"holdfast/runner/protocol"
)

const (
	defaultLines = 2000
	maxLine      = 2000     // bytes of a line that are shown
	maxShown     = 28 << 10 // bytes of a file that one read shows
)

func read(_ context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct {
		Path          string
		Offset, Limit int
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	f, real, err := w.open(a.Path)
	if err != nil {
		return protocol.Result{}, err
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return protocol.Result{}, err
	}
	w.saw(real, data)
	if kind, is := binary(data); is {
		return protocol.Result{Summary: fmt.Sprintf("%s is a binary file (%s, %d bytes, sha256 %s); its content is not shown", real, kind, len(data), hash(data))}, nil
	}
	if len(data) == 0 {
		return protocol.Result{Summary: real + " is empty"}, nil
	}
	if a.Limit == 0 {
		a.Limit = defaultLines
	}
	text, err := numbered(string(data), max(a.Offset, 1), a.Limit)
	return protocol.Result{Summary: text}, err
}

// numbered shows limit lines from the first on, as "     7\ttext".
func numbered(text string, first, limit int) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if first > len(lines) {
		return "", errs.New(errs.Invalid, "the file has %d lines, offset %d is behind its end", len(lines), first)
	}
	var b strings.Builder
	if first > 1 {
		fmt.Fprintf(&b, "… %d lines omitted before …\n", first-1)
	}
	i := first - 1
	for ; i < len(lines) && i < first-1+limit && b.Len() < maxShown; i++ {
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, shortLine(strings.TrimRight(lines[i], "\r\n")))
	}
	if i < len(lines) {
		fmt.Fprintf(&b, "… %d lines omitted; the file has %d lines, read on with offset %d …\n", len(lines)-i, len(lines), i+1)
	}
	return b.String(), nil
}

func shortLine(s string) string {
	s = clean(s)
	if len(s) <= maxLine {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes more)", wholeEnd(s[:maxLine]), len(s)-maxLine)
}

// binary says whether data is no text, and what it seems to be.
func binary(data []byte) (kind string, is bool) {
	head := data[:min(len(data), 8000)]
	if bytes.IndexByte(head, 0) < 0 && utf8.ValidString(wholeEnd(string(head))) {
		return "", false
	}
	return http.DetectContentType(head), true
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// saw remembers a file as the model knows it now.
func (w *work) saw(real string, data []byte) {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	if len(w.set.read) > 20000 { // forgetting only makes edit less strict
		clear(w.set.read)
	}
	w.set.read[w.call.Conversation+"\x00"+real] = hash(data)
}

// changed says whether a file is another one than the model has seen. One that it never saw has not changed.
func (w *work) changed(real string, data []byte) bool {
	w.set.mu.Lock()
	defer w.set.mu.Unlock()
	known, seen := w.set.read[w.call.Conversation+"\x00"+real]
	return seen && known != hash(data)
}
