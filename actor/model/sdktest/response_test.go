package sdktest

import (
	"io"
	"net/http"
	"strings"
)

// response is an HTTP answer with an event stream.
func response(body string) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body))}
}
