package draw

import (
	_ "embed" // the style
	"fmt"
	"strings"
	"sync"
)

//go:embed draw.css
var style string

// Style returns the CSS of all drawings. The page defines the colours --paper, --ink, --soft, --rule,
// --amber, --idle and the lightness --lane of jobs' colours.
var Style = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(style)
	for i := range Hues {
		fmt.Fprintf(&b, ".h%d { --h: %d; } ", i, i*360/Hues)
	}
	return b.String()
})
