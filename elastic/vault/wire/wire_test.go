package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestReadRequest(t *testing.T) {
	q, err := ReadRequest(bufio.NewReaderSize(strings.NewReader(`{"version":1,"do":"logs","job":"`+strings.Repeat("1", 5000)+`"}`+"\nrest"), 16))
	if err != nil || q.Do != Logs || len(q.Job) != 5000 {
		t.Errorf("%v, %v", q.Do, err)
	}
	for text, want := range map[string]error{
		"": io.EOF, "{": io.ErrUnexpectedEOF, "{}\n": ErrBadRequest, "[]\n": ErrBadRequest, `{"version":2}` + "\n": ErrBadRequest,
		`{"version":1,"from":-1}` + "\n": ErrBadRequest, strings.Repeat("x", MaxRequest+1): ErrBadRequest,
	} {
		if _, err := ReadRequest(bufio.NewReader(strings.NewReader(text))); !errors.Is(err, want) {
			t.Errorf("%.20q: %v, want %v", text, err, want)
		}
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add([]byte(`{"version":1,"do":"add","set":{"name":"x","release":"1B/job,1B/day"}}` + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := ReadRequest(bufio.NewReader(bytes.NewReader(text)))
		if err == nil && (q.Version != Version || q.ScriptSize < 0 || q.BundleSize < 0 || q.From < 0) {
			t.Errorf("%+v", q)
		}
	})
}
