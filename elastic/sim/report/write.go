package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// WriteJSON writes one JSON object a line, one for each run, in their order: a
// stream that jq and line-wise readers take as it is. With shares it has the accounts, with sweeps
// these.
func WriteJSON(w io.Writer, runs []Run) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, r := range runs {
		line := struct {
			Summary
			Accounts []Account `json:"accounts,omitempty"`
			Sweeps   []Sweep   `json:"sweeps,omitempty"`
		}{r.Summary, r.Accounts, r.Sweeps}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return b.Flush()
}

// WriteCSV writes a head with the keys of the JSON objects and one line for each
// run; what is null there is empty here.
func WriteCSV(w io.Writer, runs []Run) error {
	c := csv.NewWriter(w)
	var head []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Summary]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		head = append(head, key)
	}
	if err := c.Write(head); err != nil {
		return err
	}
	for _, r := range runs {
		v := reflect.ValueOf(r.Summary)
		line := make([]string, v.NumField())
		for i := range line {
			line[i] = plain(v.Field(i))
		}
		if err := c.Write(line); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// plain writes a field of a summary as JSON does, but without quotes.
func plain(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	return fmt.Sprint(v.Interface())
}
