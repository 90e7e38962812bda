package playground

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"strings"

	"holdfast/playground/world"
)

// content takes a request's body apart: JSON, or multipart with payload_json and files[n].
func content(contentType string, body []byte) (json.RawMessage, []world.File, error) {
	if len(body) == 0 {
		return nil, nil, nil
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, nil, world.Invalid("_", "CONTENT_TYPE_INVALID", "Expected \"Content-Type\" header to be one of {application/json, multipart/form-data}.")
	}
	switch kind {
	case "application/json":
		if !json.Valid(body) {
			return nil, nil, world.ErrInvalidJSON
		}
		return body, nil, nil
	case "multipart/form-data":
		return form(params["boundary"], body)
	}
	return nil, nil, world.Invalid("_", "CONTENT_TYPE_INVALID", fmt.Sprintf("Content-Type %q is not taken", kind))
}

func form(boundary string, body []byte) (json.RawMessage, []world.File, error) {
	payload := json.RawMessage("{}")
	var files []world.File
	for parts := multipart.NewReader(bytes.NewReader(body), boundary); ; {
		p, err := parts.NextPart()
		if err == io.EOF {
			return payload, files, nil
		}
		if err != nil {
			return nil, nil, world.Invalid("_", "MULTIPART_INVALID", err.Error())
		}
		data, err := io.ReadAll(p)
		if err != nil {
			return nil, nil, world.Invalid("_", "MULTIPART_INVALID", err.Error())
		}
		if name := p.FormName(); name == "payload_json" {
			if !json.Valid(data) {
				return nil, nil, world.ErrInvalidJSON
			}
			payload = data
		} else if index, ok := strings.CutPrefix(name, "files["); ok {
			files = append(files, world.File{Index: strings.TrimSuffix(index, "]"), Name: p.FileName(),
				Type: p.Header.Get("Content-Type"), Data: data})
		} else {
			return nil, nil, world.Invalid(name, "MULTIPART_INVALID", "unknown part")
		}
	}
}

// decode reads a body that the API's description accepted.
func decode[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, world.Invalid("_", "MODEL_TYPE_CONVERT", err.Error())
	}
	return v, nil
}
