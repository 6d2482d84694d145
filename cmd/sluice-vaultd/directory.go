package main

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/vault"
	"github.com/sluice-hpc/sluice/elastic/vault/wire"
)

// directory remembers what is known of users and groups while they are looked at.
type directory struct {
	accounts
	groups map[string]groupsOf
	found  map[string]error // of groups
}

type groupsOf struct {
	names []string
	err   error
}

func (s *service) directory() directory {
	return directory{accounts: s.accounts, groups: map[string]groupsOf{}, found: map[string]error{}}
}

// of returns the groups of a user.
func (d directory) of(name string) ([]string, error) {
	of, looked := d.groups[name]
	if !looked {
		of.names, of.err = d.Groups(name)
		d.groups[name] = of
	}
	return of.names, of.err
}

// group looks for a group of readers of a data set.
func (d directory) group(name, set string) error {
	err, looked := d.found[name]
	if !looked {
		err = d.Group(name)
		d.found[name] = err
	}
	var none user.UnknownGroupError
	if errors.As(err, &none) {
		return fmt.Errorf("the directory of users has no group %s; if it was removed, type: sluice data revoke %s @%s", name, set, name)
	}
	return err
}

// gone reports whether a user may certainly not read a data set any more. While the directory of users does not answer, a user seems
// to be in few groups or none: so each group that reads the data set must be there.
func (d directory) gone(set vault.Set, user string) (bool, error) {
	if set.MayRead(user, nil) {
		return false, nil
	}
	for _, r := range set.Readers {
		group, is := strings.CutPrefix(r, "@")
		if !is {
			continue
		}
		of, err := d.of(user)
		if err != nil {
			return false, err
		}
		if slices.Contains(of, group) {
			return false, nil
		}
		if err := d.group(group, set.Name); err != nil {
			return false, err
		}
	}
	return true, nil
}

// groupsAre reports a group among readers that there is not: while a data set has one, nobody is known not to be in it. The mutex
// must not be held.
func (s *service) groupsAre(readers []string) error {
	for _, r := range readers {
		group, is := strings.CutPrefix(r, "@")
		if !is {
			continue
		}
		var none user.UnknownGroupError
		switch err := s.accounts.Group(group); {
		case errors.As(err, &none):
			return wire.Fail(wire.BadRequest, "'getent group NAME' shows a group", "there is no group %s", group)
		case err != nil:
			return wire.Fail(wire.Unavailable, "try again in a moment", "whether there is a group %s is not known: %v", group, err)
		}
	}
	return nil
}

// doubt is that it is not known whether a user may read a data set.
type doubt struct {
	user, set string
	why       error
	jobs      int // that run on
}

// doubts are one for each user and data set.
type doubts []doubt

func (all *doubts) add(d doubt) {
	at := slices.IndexFunc(*all, func(o doubt) bool { return o.user == d.user && o.set == d.set })
	if at < 0 {
		at, d.jobs = len(*all), 0
		*all = append(*all, d)
	}
	(*all)[at].jobs++
}

func (all doubts) err() error {
	var each []error
	for _, d := range all {
		each = append(each, fmt.Errorf("whether %s may read %s is not known; jobs that run on: %d: %w", d.user, d.set, d.jobs, d.why))
	}
	return some(each)
}

// mostTold bounds the errors that are told at once.
const mostTold = 5

// some joins the first errors, and says how many more there are.
func some(all []error) error {
	if len(all) > mostTold {
		all = append(slices.Clone(all[:mostTold]), fmt.Errorf("%d more of this kind", len(all)-mostTold))
	}
	return errors.Join(all...)
}
