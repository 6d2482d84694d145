package page

import (
	"embed"
	"net/http"
	"sync"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

//go:embed static
var files embed.FS

// assets are the style, the script and the icon, by name: the style of the pages and that of the
// drawings are one file.
var assets = sync.OnceValue(func() map[string]asset {
	read := func(name string) []byte {
		b, err := files.ReadFile("static/" + name)
		if err != nil {
			panic(err) // it was there when the program was built
		}
		return b
	}
	return map[string]asset{
		"web.css":  {"text/css; charset=utf-8", append(read("web.css"), draw.Style()...)},
		"web.js":   {"text/javascript; charset=utf-8", read("web.js")},
		"icon.svg": {"image/svg+xml", read("icon.svg")},
	}
})

type asset struct {
	kind string
	body []byte
}

func (p *Pages) static(w http.ResponseWriter, r *http.Request) {
	a, ok := assets()[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	send(w, r, http.StatusOK, a.body)
}
