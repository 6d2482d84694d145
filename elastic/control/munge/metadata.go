package munge

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Credential is what munged says of one.
type Credential struct {
	UID, GID uint32 // who made it
	// Host is the address of the node it was made on, "" when not told. munged
	// vouches for it, no name service was asked.
	Host    string
	Payload []byte

	cipher     uint32
	reader     uint32
	restricted bool
}

// wanted are the keys that unmunge is asked for.
var wanted = []string{"STATUS", "ENCODE_HOST", "CIPHER", "UID", "GID", "UID_RESTRICTION", "LENGTH"}

// metadata reads unmunge's lines up to the blank one: "UID:   ann (1001)". What
// stands twice is an error, so that nothing can be said over again.
func metadata(out []byte) (map[string]string, error) {
	meta := map[string]string{}
	head, _, _ := bytes.Cut(out, []byte("\n\n"))
	for line := range strings.Lines(string(head)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if _, twice := meta[key]; !ok || twice || len(meta) > 32 {
			return nil, fmt.Errorf("unmunge printed an unexpected line %.60q", line)
		}
		meta[key] = strings.TrimSpace(value)
	}
	return meta, nil
}

// parse reads all that unmunge printed of a good credential.
func parse(out []byte) (Credential, error) {
	meta, err := metadata(out)
	if err != nil {
		return Credential{}, err
	}
	_, payload, ended := bytes.Cut(out, []byte("\n\n"))
	var c Credential
	var status, length uint32
	for key, at := range map[string]*uint32{"STATUS": &status, "CIPHER": &c.cipher, "UID": &c.UID, "GID": &c.GID, "LENGTH": &length} {
		if *at, err = number(meta[key]); err != nil {
			return Credential{}, fmt.Errorf("unmunge's %s: %w", key, err)
		}
	}
	if status != 0 {
		return Credential{}, errors.New(words(meta["STATUS"]))
	}
	if !ended || int64(len(payload)) != int64(length) {
		return Credential{}, fmt.Errorf("unmunge printed %d bytes of a payload of %d", len(payload), length)
	}
	if text, ok := meta["UID_RESTRICTION"]; ok {
		c.restricted = true
		if c.reader, err = number(text); err != nil {
			return Credential{}, fmt.Errorf("unmunge's UID_RESTRICTION: %w", err)
		}
	}
	c.Host, c.Payload = host(meta["ENCODE_HOST"]), payload
	return c, nil
}

// number reads "ann (1001)" or "1001". The number is what stands in the last
// parentheses: a name may hold some of its own.
func number(s string) (uint32, error) {
	text := s
	if inner, ok := strings.CutSuffix(s, ")"); ok {
		text = inner[strings.LastIndexByte(inner, '(')+1:]
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.60q holds no number", s)
	}
	return uint32(n), nil
}

// host reads "login2 (10.0.0.2)" or "10.0.0.2".
func host(s string) string {
	if inner, ok := strings.CutSuffix(s, ")"); ok {
		s = inner[strings.LastIndexByte(inner, '(')+1:]
	}
	address, err := netip.ParseAddr(s)
	if err != nil {
		return ""
	}
	return address.String()
}
