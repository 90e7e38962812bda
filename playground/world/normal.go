package world

import (
	"bytes"
	"encoding/json"
)

// normal drops nulls, as Discord does when it shows something again, and lets shape finish each object that has
// a type, outermost first. The input was validated: it is an object.
func normal(raw json.RawMessage, shape func(obj)) json.RawMessage {
	o := object(raw)
	if o["type"] == nil {
		o["type"] = "rich" // an embed; components always have one
	}
	visit(o, shape)
	out, _ := json.Marshal(o) // came from JSON
	return out
}

// object decodes a JSON object and keeps its numbers as written; anything else becomes an empty one.
func object(raw json.RawMessage) obj {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var o obj
	if dec.Decode(&o) != nil || o == nil {
		return obj{}
	}
	return o
}

func visit(v any, shape func(obj)) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			visit(x, shape)
		}
	case obj:
		for k, x := range v {
			if x == nil {
				delete(v, k)
			}
		}
		if v["type"] != nil {
			shape(v)
		}
		for _, k := range []string{"components", "component", "accessory", "fields", "footer", "author", "image", "thumbnail"} {
			visit(v[k], shape)
		}
	}
}

// embedShape adds what Discord adds to an embed.
func embedShape(o obj) {
	o["type"] = "rich"
	fields, _ := o["fields"].([]any)
	for _, f := range fields {
		if f, ok := f.(obj); ok && f["inline"] == nil {
			f["inline"] = false
		}
	}
}
