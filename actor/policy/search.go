package policy

import "strings"

// This file knows the programs whose first operand is no path: grep and its like, and jq.

// fileOptions are long options of grep and rg whose value is a file.
var fileOptions = []string{"--file", "--exclude-from", "--ignore-file"}

// pattern is grep and its like: the first operand is the pattern, unless an option gives it.
func pattern(_ *shell, c *call) {
	guard(c)
	c.optioned = baseName(c.name()) == "rg"
	c.plain = true
	g := grammarOf([]string{c.name()})
	if !g.known {
		g = grammars["rg"]
	}
	argv := texts(c.argv)
	end := g.end(argv)
	c.paths = nil
	var operands []word
	given := false
	for i := 1; i < len(argv); i++ {
		text := argv[i]
		if i == end {
			continue
		}
		if i > end || len(text) < 2 || text[0] != '-' {
			operands = append(operands, c.argv[i])
			continue
		}
		option, value := g.optionWithValue(text)
		noFile := isPattern(option) || option == "--exclude" || option == "--exclude-dir" // what is left out
		given = given || isPattern(option)
		if !noFile {
			c.paths = append(c.paths, c.argv[i])
		}
		if value == "" && g.takesNext(text) && !strings.Contains(text, "=") && i+1 < len(argv) {
			i++
			if !noFile && !strings.HasPrefix(argv[i], "!") { // rg -g '!*.env' leaves files out
				c.paths = append(c.paths, c.argv[i])
			}
		}
		given = given || option == "-f" || spells(fileOptions[:1], option)
	}
	if !given && len(operands) > 0 {
		operands = operands[1:]
	}
	c.paths = append(c.paths, operands...)
}

func isPattern(option string) bool {
	return option == "-e" || len(option) > 3 && spells([]string{"--regexp"}, option)
}

// optionWithValue is the last option in a word, which may have a value, and the part of the word that is the value.
func (g grammar) optionWithValue(text string) (option, value string) {
	if strings.HasPrefix(text, "--") {
		option, value, _ = strings.Cut(text, "=")
		return option, value
	}
	letters := g.letters(text)
	if len(letters) == 0 {
		return text, ""
	}
	return letters[len(letters)-1], text[1+len(letters):]
}

// jqCommand: the first operand is the program, unless it is in a file. A program may read modules and data of its own.
func jqCommand(_ *shell, c *call) {
	c.plain, c.paths = true, nil
	var operands []word
	fromFile := false
	for i := 1; i < len(c.argv); i++ {
		w := c.argv[i]
		if len(w.text) < 2 || w.text[0] != '-' || w.text == "--" {
			operands = append(operands, w)
			continue
		}
		c.paths = append(c.paths, w)
		fromFile = fromFile || w.text == "--from-file" || w.text[1] != '-' && strings.Contains(w.text, "f")
		names, files := jqValues(w.text)
		i += names
		for ; files > 0 && i+1 < len(c.argv); files-- {
			i++
			c.paths = append(c.paths, c.argv[i])
		}
	}
	if !fromFile && len(operands) > 0 {
		c.jqProgram(operands[0])
		operands = operands[1:]
	}
	c.paths = append(c.paths, operands...)
}

// jqValues says how many words an option takes: texts, and after them files.
func jqValues(option string) (texts, files int) {
	switch option {
	case "--arg", "--argjson":
		return 2, 0
	case "--indent":
		return 1, 0
	case "--rawfile", "--slurpfile", "--argfile":
		return 1, 1
	case "-L", "--library-path":
		return 0, 1
	}
	return 0, 0
}

func (c *call) jqProgram(w word) {
	if (strings.Contains(w.text, "import") || strings.Contains(w.text, "include")) && strings.Contains(w.text, `"`) {
		c.ask("A program of jq may read modules and data from anywhere.")
	}
}
