package tools

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"syscall"

	"holdfast/actor/errs"
	"holdfast/runner/protocol"
)

// Limits of the searching tools.
const (
	maxWalked  = 200_000 // files and folders looked at
	maxFound   = 1000    // paths of a glob
	maxMatches = 500     // lines of a grep
	maxGrepped = 4 << 20 // bytes of a file that grep reads
)

// walk calls visit with each file below a folder that git does not ignore and nobody has denied, in order of names.
// Links are not followed. visit may end it with fs.SkipAll.
func (w *work) walk(ctx context.Context, start string, visit func(rel string) error) error {
	walked := 0
	var down func(dir string, rules []ignoreFile) error
	down = func(dir string, rules []ignoreFile) error {
		entries, err := fs.ReadDir(w.root.FS(), dir)
		if err != nil {
			return nil // gone or unreadable: nothing to find there
		}
		rules = w.addIgnore(rules, dir)
		for _, e := range entries {
			rel := path.Join(dir, e.Name())
			if walked++; walked > maxWalked {
				return errs.New(errs.Invalid, "more than %d files: search in a folder below", maxWalked)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if e.Name() == ".git" || ignored(rules, rel, e.IsDir()) || w.set.isDenied(rel) {
				continue
			}
			if e.IsDir() {
				err = down(rel, rules)
			} else if e.Type().IsRegular() {
				err = visit(rel)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	var rules []ignoreFile
	for i, c := range start { // the rules of the folders above
		if c == '/' {
			rules = w.addIgnore(rules, start[:i])
		}
	}
	if start != "." {
		rules = append(w.addIgnore(nil, "."), rules...)
	}
	if err := down(start, rules); err != fs.SkipAll {
		return err
	}
	return nil
}

func (w *work) addIgnore(rules []ignoreFile, dir string) []ignoreFile {
	f, err := w.root.OpenFile(path.Join(dir, ".gitignore"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return rules
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return rules
	}
	text, err := io.ReadAll(io.LimitReader(f, 256<<10))
	if err != nil {
		return rules
	}
	return append(rules[:len(rules):len(rules)], parseIgnore(dir, string(text)))
}

// startFolder is the folder that a search begins in, without links on the way.
func (w *work) startFolder(given string) (string, error) {
	if given == "" {
		return ".", nil
	}
	rel, err := w.relative(given)
	if err != nil {
		return "", err
	}
	dir, real, err := w.folder(rel)
	if err != nil {
		return "", err
	}
	dir.Close()
	return real, w.permit(real, false)
}

// pathPattern matches paths below a folder; without a slash it matches names in every folder.
func pathPattern(pattern string) (func(rel string) bool, error) {
	re, err := regexp.Compile(globExpr(strings.TrimPrefix(pattern, "/")))
	if err != nil {
		return nil, errs.New(errs.Invalid, "%q is no pattern: %v", pattern, err)
	}
	if !strings.Contains(pattern, "/") {
		return func(rel string) bool { return re.MatchString(path.Base(rel)) }, nil
	}
	return re.MatchString, nil
}

func below(start, rel string) string {
	if start == "." {
		return rel
	}
	return strings.TrimPrefix(rel, start+"/")
}

func glob(ctx context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct{ Pattern, Path string }
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	match, err := pathPattern(a.Pattern)
	if err != nil {
		return protocol.Result{}, err
	}
	start, err := w.startFolder(a.Path)
	if err != nil {
		return protocol.Result{}, err
	}
	var b strings.Builder
	n := 0
	err = w.walk(ctx, start, func(rel string) error {
		if match(below(start, rel)) {
			if n++; n <= maxFound {
				b.WriteString(rel + "\n")
			}
		}
		return nil
	})
	if err != nil {
		return protocol.Result{}, err
	}
	if n == 0 {
		return protocol.Result{Summary: "no file matches"}, nil
	}
	if n > maxFound {
		fmt.Fprintf(&b, "… %d more files omitted; narrow the pattern …\n", n-maxFound)
	}
	return protocol.Result{Summary: shorten(clean(b.String()))}, nil
}

func grep(ctx context.Context, w *work, raw json.RawMessage) (protocol.Result, error) {
	var a struct {
		Pattern, Path, Glob string
		IgnoreCase          bool `json:"ignore_case"`
		Context             int
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return protocol.Result{}, err
	}
	if a.IgnoreCase {
		a.Pattern = "(?i)" + a.Pattern
	}
	re, err := regexp.Compile(a.Pattern)
	if err != nil {
		return protocol.Result{}, errs.New(errs.Invalid, "the pattern is no regular expression: %v", err)
	}
	match, err := pathPattern(a.Glob)
	if err != nil {
		return protocol.Result{}, err
	}
	s := search{re: re, context: a.Context}
	one := func(rel string) error { return s.file(w, rel) }
	if rel, err := w.relative(a.Path); a.Path != "" && err == nil {
		if info, err := w.root.Stat(rel); err == nil && info.Mode().IsRegular() { // a path may also be one file
			f, real, err := w.open(a.Path)
			if err != nil {
				return protocol.Result{}, err
			}
			f.Close()
			return s.result(one(real))
		}
	}
	start, err := w.startFolder(a.Path)
	if err != nil {
		return protocol.Result{}, err
	}
	return s.result(w.walk(ctx, start, func(rel string) error {
		if a.Glob != "" && !match(below(start, rel)) {
			return nil
		}
		return one(rel)
	}))
}

// search is the state of one grep.
type search struct {
	re      *regexp.Regexp
	context int
	out     strings.Builder
	matches int
	skipped int // files too long
}

func (s *search) result(err error) (protocol.Result, error) {
	if err != nil && err != fs.SkipAll {
		return protocol.Result{}, err
	}
	if s.matches == 0 {
		s.out.WriteString("no match\n")
	}
	if s.matches >= maxMatches {
		fmt.Fprintf(&s.out, "… stopped after %d matches; narrow the search …\n", maxMatches)
	}
	if s.skipped > 0 {
		fmt.Fprintf(&s.out, "… %d files longer than %d bytes were not searched …\n", s.skipped, maxGrepped)
	}
	return protocol.Result{Summary: shorten(s.out.String())}, nil
}

// file searches one file. What cannot be opened, or is no text, is passed over.
func (s *search) file(w *work, rel string) error {
	f, err := w.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := w.checkOpened(f, rel); err != nil { // it may have become a link meanwhile
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxGrepped+1))
	if err != nil {
		return nil
	}
	if len(data) > maxGrepped {
		s.skipped++
		return nil
	}
	if _, is := binary(data); is || !s.re.Match(data) && !multiline(s.re) {
		return nil
	}
	return s.lines(rel, data)
}

// multiline says that an expression may match a line of a text but not the text: it has anchors.
func multiline(re *regexp.Regexp) bool { return strings.ContainsAny(re.String(), `^$\`) }

func (s *search) lines(rel string, data []byte) error {
	var lines []string
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, maxGrepped+1)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	shown := 0 // lines up to here were printed
	for i, line := range lines {
		if !s.re.MatchString(line) {
			continue
		}
		from := max(shown, i-s.context)
		if s.context > 0 && shown > 0 && from > shown {
			s.out.WriteString("--\n")
		}
		for j := from; j <= min(i+s.context, len(lines)-1); j++ {
			mark := "-"
			if s.re.MatchString(lines[j]) {
				mark = ":"
				s.matches++
			}
			fmt.Fprintf(&s.out, "%s%s%d%s%s\n", clean(rel), mark, j+1, mark, cut(lines[j], 400))
			shown = j + 1
		}
		if s.matches >= maxMatches {
			return fs.SkipAll
		}
	}
	return nil
}

func cut(s string, n int) string {
	if s = clean(s); len(s) > n {
		return wholeEnd(s[:n]) + "…"
	}
	return s
}
