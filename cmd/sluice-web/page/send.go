package page

import (
	"compress/gzip"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// fromSize is the size from which on an answer is compressed, in bytes.
const fromSize = 2 << 10

var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// send writes an answer; a page that has not changed since the browser got it is not sent again.
func send(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := fnv.New64a()
	_, _ = h.Write(body)
	tag := `"` + strconv.FormatUint(h.Sum64(), 36) + `"`
	w.Header().Set("ETag", tag)
	w.Header().Add("Vary", "Accept-Encoding")
	if status == http.StatusOK && r.Method == http.MethodGet && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if len(body) < fromSize || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(status)
		_, _ = w.Write(body) // a browser that has gone is not an error
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
}
