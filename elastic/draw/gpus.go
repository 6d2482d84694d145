package draw

import (
	"fmt"
	"html/template"
)

// GPUs are some GPUs of a node that are in one use.
type GPUs struct {
	Count int
	Class string // of Style or of the page
	Title string // in words
}

// Squares draws a node's GPUs, a square each, at most 8 in a row. label is the drawing in words.
func Squares(uses []GPUs, label string) template.HTML {
	const size, gap, row, most = 10.0, 2.0, 8, 128
	total := 0
	for _, u := range uses {
		total += u.Count
	}
	total = min(max(total, 1), most)
	lines := (total + row - 1) / row
	d := New(float64(min(total, row))*(size+gap)-gap, float64(lines)*(size+gap)-gap, fmt.Sprintf("gpus n%d", min(total, row)), label)
	i := 0
	for _, u := range uses {
		path := ""
		for range u.Count {
			if i < most {
				path += Box(float64(i%row)*(size+gap), float64(i/row)*(size+gap), size, size)
			}
			i++
		}
		if path != "" {
			d.Printf(`<path class="%s" d="%s"><title>%s</title></path>`, Escaped(u.Class), path, Escaped(u.Title))
		}
	}
	return d.Done()
}

// Bar draws parts of a whole beside each other. label is the drawing in words.
func Bar(parts []GPUs, label string) template.HTML {
	const width, height = 1000.0, 14.0
	total := 0
	for _, p := range parts {
		total += p.Count
	}
	d := begun(width, height, "stack", "img", label, ` preserveAspectRatio="none"`)
	x := 0.0
	for _, p := range parts {
		if p.Count < 1 {
			continue
		}
		w := width * float64(p.Count) / float64(total)
		d.Printf(`<path class="%s" d="%s"><title>%s</title></path>`, Escaped(p.Class), Box(x, 0, max(1, w-2), height), Escaped(p.Title))
		x += w
	}
	return d.Done()
}
