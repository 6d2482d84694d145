package client

import (
	"bufio"
	"strings"
	"testing"
)

// An answer is taken whole or not at all: one that was cut off, has no end to its header or
// is not HTTP is an error.
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
