package client

import (
	"bufio"
	"strings"
	"testing"
)

// An answer is returned whole or not at all: one that is cut off, has an endless header or is
// not HTTP is an error.
func TestReadAnswer(t *testing.T) {
	for text, want := range map[string]string{
		"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n{}": "{}",
		"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}":       "{}",
		"HTTP/1.0 200 OK\r\n\r\n":                                     "",
		"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n{}":              "error",
		"HTTP/1.0 200 OK\r\nContent-Length: -3\r\n\r\n{}":             "error",
		"HTTP/1.0 200 OK\r\nContent-Le":                               "error",
		"HTTP/1.0 2000 OK\r\n\r\n":                                    "error",
		"SSH-2.0-OpenSSH_9.2\r\n":                                     "error",
		"":                                                            "error",
		"\r\n\r\n{}":                                                  "error",
		"HTTP/1.0 200 OK\r\n" + strings.Repeat("A: b\r\n", maxHead/4) + "\r\n": "error",
		"HTTP/1.0 200 OK\r\nA: " + strings.Repeat("b", maxHead) + "\r\n\r\n":   "error",
	} {
		status, body, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		got := string(body)
		if err != nil {
			got = "error"
		}
		if got != want || err == nil && status != 200 && status != 404 {
			t.Errorf("%.60q: %d, %q, %v; want %q", text, status, body, err, want)
		}
	}
}

// FuzzReadAnswer: any input gives an answer or an error, and the answer's body is part of the
// input.
func FuzzReadAnswer(f *testing.F) {
	for _, text := range []string{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", "HTTP/1.1 204 No Content\n\n", "HTTP/1.0 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n", "\r\n", "SSH-2.0\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		status, body, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		switch {
		case err != nil:
		case status < 100 || status > 599 || len(body) > maxAnswer || !strings.HasSuffix(text, string(body)):
			t.Errorf("%q: %d, %q", text, status, body)
		}
	})
}
