package track

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// confined is what is known of the service account, whose jobs belong to the users that they name.
type confined struct {
	account string // its name; "" = the site has none, and no job is confined
	known   observe.Account
	owners  map[string]observe.Account // by name, of the users that unknown jobs of it name
}

// ownerOf returns the user that a job with such a tag counts for. why is not empty if that is not known:
// then the job MUST NOT be adopted, since the owner of a known job never changes.
//
//	for=                            owner
//	none, or no service account     Slurm's user
//	service account's uid unknown   not known: else its jobs could be recorded as its own for ever
//	another user's job              Slurm's user: users write their comments themselves
//	service account's job           the user named, once there is such a user
func (c *confined) ownerOf(sj slurm.Job, named string) (owner elastic.Owner, why string) {
	own := elastic.Owner{User: sj.User, UID: sj.UID}
	switch {
	case named == "" || c.account == "":
		return own, ""
	case !c.known.OK:
		return own, fmt.Sprintf("its comment says for=%s, and the uid of the service account %s is not known; left alone until it is", named, c.account)
	case sj.UID != c.known.UID:
		return own, ""
	case !c.owners[named].OK:
		return own, fmt.Sprintf("its comment says for=%s, and the uid of that user is not known; left alone until it is", named)
	}
	return elastic.Owner{User: named, UID: c.owners[named].UID}, ""
}

// ownerKept returns the tag with the owner on record: it is decided when the job is adopted, and what
// is written into the comment later changes nothing. The tag on record names an owner only if the job is
// one of the service account.
func ownerKept(log *event.Log, js *Job, tag elastic.Tag, now time.Time) elastic.Tag {
	if tag.For == js.Rec.Tag.For {
		js.Shown.ignored.owner = false
		return tag
	}
	if !js.Shown.ignored.owner {
		log.Tell(now, js.Rec.ID, "problem", fmt.Sprintf("its comment says for=%s, which is ignored: it belongs to %s", tag.For, js.Rec.Owner.User), event.Fields{Problem: event.ProblemFor})
	}
	js.Shown.ignored.owner = true
	tag.For, js.PendingTag = js.Rec.Tag.For, true
	return tag
}

// SawAccount stores what was read of the service account. It MUST be called BEFORE OwnersWanted. It
// logs a uid that is new, and once that there is none.
func SawAccount(st *State, name string, known observe.Account, now time.Time) {
	c := &st.confined
	changed := known != c.known || name != c.account
	c.account, c.known = name, known
	switch {
	case !changed || name == "":
	case !known.OK:
		st.Tell(now, 0, "problem", fmt.Sprintf("the service account %s is not known; its new jobs that name a user are left alone until 'getent passwd %s' finds it: see [data] account in sluice.toml", name, name), event.Fields{Problem: event.ProblemOwner})
	default:
		st.Tell(now, 0, "confined", fmt.Sprintf("jobs of %s (uid %d) belong to the users that they name", name, known.UID),
			event.Fields{AdoptFields: event.AdoptFields{Account: name, SlurmUID: known.UID}})
	}
}

// OwnersWanted returns the users whose uids have to be read BEFORE Match: those that unknown jobs of
// the service account name. Another user cannot make sluiced look up a name.
func OwnersWanted(st *State, jobs []slurm.Job) (names []string) {
	account := st.confined.known
	if !account.OK {
		return nil
	}
	for _, sj := range jobs {
		if sj.UID != account.UID || !elastic.Tagged(sj.Comment) {
			continue
		}
		if tag, err := st.tagOf(sj); err == nil && tag.For != "" && st.Jobs[tag.Spec.Token] == nil {
			names = append(names, tag.For)
		}
	}
	return names
}

// SawOwners stores the uids of these users.
func SawOwners(st *State, owners map[string]observe.Account) { st.confined.owners = owners }
