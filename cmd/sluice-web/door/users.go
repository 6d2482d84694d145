package door

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Users says which account of the cluster a name of the web server is. Its zero value takes names
// as they are.
type Users struct {
	names  map[string]string // a name to its account
	realms map[string]bool   // names NAME@REALM are the account NAME
	only   bool              // names that no line gives are refused
}

// account is the form of an account's name, as useradd accepts it.
var account = regexp.MustCompile(`^[a-z_][a-z0-9_.-]{0,31}$`)

// maxUsers bounds the lines of a map.
const maxUsers = 200_000

// ReadUsers reads a user map. Each line has a name of the web server and an account, separated by
// spaces; "*@REALM *" takes the part before @REALM. "#" begins a comment. With a map, names that no
// line gives are refused. Errors name line and column.
func ReadUsers(file string, from io.Reader) (Users, error) {
	u := Users{names: map[string]string{}, realms: map[string]bool{}, only: true}
	lines := bufio.NewScanner(from)
	n := 0
	for lines.Scan() {
		n++
		plain, _, _ := bytes.Cut(lines.Bytes(), []byte("#"))
		text := string(plain)
		words := strings.Fields(text)
		column := 1 + len(text) - len(strings.TrimLeft(text, " \t"))
		switch {
		case n > maxUsers:
			return Users{}, fmt.Errorf("%s:%d:1: more than %d lines", file, n, maxUsers)
		case len(words) == 0:
		case len(words) != 2:
			return Users{}, fmt.Errorf("%s:%d:%d: want a name and an account, such as 'jdoe@example.org jdoe'", file, n, column)
		case len(words[0]) > 2 && strings.HasPrefix(words[0], "*@") && words[1] == "*":
			u.realms[words[0][2:]] = true
		case strings.Contains(words[0], "*"):
			return Users{}, fmt.Errorf("%s:%d:%d: the only pattern is '*@REALM *'", file, n, column)
		case !account.MatchString(words[1]):
			return Users{}, fmt.Errorf("%s:%d:%d: %.40q is not the name of an account", file, n, strings.LastIndex(text, words[1])+1, words[1])
		case u.names[words[0]] != "" && u.names[words[0]] != words[1]:
			return Users{}, fmt.Errorf("%s:%d:%d: %.40q is the account %s on a line before", file, n, column, words[0], u.names[words[0]])
		default:
			u.names[words[0]] = words[1]
		}
	}
	if err := lines.Err(); err != nil {
		return Users{}, fmt.Errorf("%s:%d:1: %w", file, n+1, err)
	}
	return u, nil
}

// Account returns the account of a name. It is never root: what only root may do is not for a page.
func (u Users) Account(name string) (string, error) {
	a, err := u.account(name)
	if err == nil && a == "root" {
		return "", fmt.Errorf("%.60q is root, and root has no pages", name)
	}
	return a, err
}

func (u Users) account(name string) (string, error) {
	if a := u.names[name]; a != "" {
		return a, nil
	}
	local, realm, has := strings.Cut(name, "@")
	if has && u.realms[realm] && account.MatchString(local) {
		return local, nil
	}
	if u.only || !account.MatchString(name) {
		return "", fmt.Errorf("%.60q has no account here; an administrator adds it to the user map", name)
	}
	return name, nil
}
