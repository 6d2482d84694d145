package munge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// What can go wrong, to test for with errors.Is.
var (
	// ErrMissing: munge is not installed, or its munged does not answer.
	ErrMissing = errors.New("no munge")
	// ErrRefused: the credential is not one that counts here: forged, expired,
	// replayed, meant for another account, or readable to all.
	ErrRefused = errors.New("credential refused")
)

// Bounds of one credential.
const (
	// MaxPayload is the most that Seal takes, in bytes.
	MaxPayload = 32 << 10
	// MaxCredential is the longest credential that Open looks at, in bytes.
	MaxCredential = 48 << 10
	// Life is how long a credential can be read. Two clocks may differ by as much.
	Life = time.Minute
	// runWithin is the deadline of one run of munge or unmunge.
	runWithin = 3 * time.Second
)

// places are where the programs are looked for: never in the caller's PATH.
var places = []string{"/usr/bin", "/usr/local/bin", "/opt/munge/bin"}

// Tool runs munge and unmunge. It may be used from many goroutines.
type Tool struct {
	encoder, decoder string
	socket           string
}

// New returns a Tool over the programs of this machine. socket is that of
// munged; "" is munge's own default. It fails with ErrMissing.
func New(socket string) (*Tool, error) { return In(places, socket) }

// In is New with other folders to look for the programs in.
func In(folders []string, socket string) (*Tool, error) {
	t := &Tool{socket: socket}
	for name, at := range map[string]*string{"munge": &t.encoder, "unmunge": &t.decoder} {
		if *at = find(folders, name); *at == "" {
			return nil, fmt.Errorf("%w: there is no program %s in %s; install the package munge", ErrMissing, name, strings.Join(folders, ", "))
		}
	}
	return t, nil
}

func find(folders []string, name string) string {
	for _, dir := range folders {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Seal returns a credential of the calling process's user that only the user
// reader can open, for as long as Life. The payload is encrypted.
func (t *Tool) Seal(ctx context.Context, payload []byte, reader uint32) (string, error) {
	if len(payload) > MaxPayload {
		return "", fmt.Errorf("%w: %d bytes are more than a credential holds (%d)", ErrRefused, len(payload), MaxPayload)
	}
	out, err := t.run(ctx, t.encoder, payload, MaxCredential,
		"--restrict-uid="+strconv.FormatUint(uint64(reader), 10),
		"--ttl="+strconv.Itoa(int(Life.Seconds())), "--cipher=aes128", "--zip=none")
	if err != nil {
		return "", err
	}
	credential := strings.TrimSpace(string(out))
	if !WellFormed(credential) {
		return "", fmt.Errorf("%w: munge printed something that is no credential", ErrMissing)
	}
	return credential, nil
}

// Open asks munged whether the credential is good, has not been read before and
// was made, encrypted, for the user reader alone, and returns whose it is and
// what is in it. It must run as reader. A bad one is ErrRefused.
func (t *Tool) Open(ctx context.Context, credential string, reader uint32) (Credential, error) {
	if !WellFormed(credential) {
		return Credential{}, fmt.Errorf("%w: it has not the form of one", ErrRefused)
	}
	out, err := t.run(ctx, t.decoder, []byte(credential), MaxCredential, "--keys="+strings.Join(wanted, ","))
	if err != nil {
		return Credential{}, err
	}
	c, err := parse(out)
	switch {
	case err != nil:
		return Credential{}, fmt.Errorf("%w: %w", ErrRefused, err)
	case c.cipher == 0:
		return Credential{}, fmt.Errorf("%w: it is not encrypted", ErrRefused)
	case !c.restricted || c.reader != reader:
		return Credential{}, fmt.Errorf("%w: it is not made for uid %d alone", ErrRefused, reader)
	}
	return c, nil
}

// WellFormed reports whether the text has the form of a credential. It costs
// next to nothing, where Open costs two processes and a question to munged.
func WellFormed(credential string) bool {
	if len(credential) > MaxCredential {
		return false
	}
	body, ok := strings.CutPrefix(credential, "MUNGE:")
	body, closed := strings.CutSuffix(body, ":")
	return ok && closed && body != "" && strings.IndexFunc(body, notBase64) < 0
}

func notBase64(r rune) bool {
	letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
	return !letter && r != '+' && r != '/' && r != '='
}
