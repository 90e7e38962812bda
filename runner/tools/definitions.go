package tools

import "encoding/json"

type definition struct {
	name, description string
	safe              bool // running it twice does no harm
	schema            string
	run               tool
}

func (d definition) schemaJSON() json.RawMessage { return json.RawMessage(d.schema) }

func definitionOf(name string) definition {
	for _, d := range definitions {
		if d.name == name {
			return d
		}
	}
	return definition{schema: "{}"}
}

// definitions are in the order in which they are offered. They are filled in by init because the tools refer to them.
var definitions []definition

func init() {
	definitions = []definition{
		{"read", "Read a text file of the project, with line numbers. Long files are read in parts: offset is the first line (from 1), limit the number of lines.", true,
			`{"type":"object","properties":{"path":{"type":"string","minLength":1},"offset":{"type":"integer","minimum":1},"limit":{"type":"integer","minimum":1,"maximum":5000}},"required":["path"],"additionalProperties":false}`, read},
		{"glob", "List files whose path matches a pattern: * any text within a name, ** any folders, ? one letter. A pattern without / matches in every folder. Files that git ignores are left out.", true,
			`{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"maxLength":1000},"path":{"type":"string","minLength":1}},"required":["pattern"],"additionalProperties":false}`, glob},
		{"grep", "Search the project's text files for a regular expression (RE2 syntax). Files that git ignores are left out. glob narrows the files, path the folder.", true,
			`{"type":"object","properties":{"pattern":{"type":"string","minLength":1,"maxLength":1000},"path":{"type":"string","minLength":1},"glob":{"type":"string","minLength":1,"maxLength":1000},"ignore_case":{"type":"boolean"},"context":{"type":"integer","minimum":0,"maximum":20}},"required":["pattern"],"additionalProperties":false}`, grep},
		{"write", "Write a whole file of the project; folders are made as needed, an existing file is replaced.", true,
			`{"type":"object","properties":{"path":{"type":"string","minLength":1},"content":{"type":"string"}},"required":["path","content"],"additionalProperties":false}`, write},
		{"edit", "Replace text in a file. old must occur exactly once, unless all is true. Read the file first; the edit is refused when the file has changed since.", false,
			`{"type":"object","properties":{"path":{"type":"string","minLength":1},"old":{"type":"string","minLength":1},"new":{"type":"string"},"all":{"type":"boolean"}},"required":["path","old","new"],"additionalProperties":false}`, edit},
		{"bash", "Run a command with bash in the project's folder. There is no network. timeout is in seconds (default 120), cwd a folder of the project.", false,
			`{"type":"object","properties":{"command":{"type":"string","minLength":1,"maxLength":100000},"timeout":{"type":"number","exclusiveMinimum":0,"maximum":3600},"cwd":{"type":"string","minLength":1}},"required":["command"],"additionalProperties":false}`, bash},
	}
}
