package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

const (
	// canonicalVersion is the first value of every canonical form.
	canonicalVersion = "petstore-audit/1"
	canonicalTime    = "2006-01-02T15:04:05.000000Z"
)

// Canonical returns the bytes whose SHA-256 is the entry's hash: its values as netstrings, in the
// order of docs/audit.md. An unset value is empty. The function audit_canonical of the migrations
// returns the same.
func (e *Entry) Canonical() []byte {
	tenant := ""
	if e.TenantID != 0 {
		tenant = strconv.FormatInt(e.TenantID, 10)
	}
	var out []byte
	for _, value := range []string{
		canonicalVersion, strconv.FormatInt(e.Number, 10), e.Prev.String(), e.At.UTC().Format(canonicalTime),
		e.Login, e.Address, e.ClaimedActor, e.Action, tenant, e.Subject, string(e.Before), string(e.After), e.Reason,
	} {
		out = strconv.AppendInt(out, int64(len(value)), 10)
		out = append(out, ':')
		out = append(out, value...)
		out = append(out, ',')
	}
	return out
}

// Sum returns the hash that the entry must have.
func (e *Entry) Sum() Hash { return sha256.Sum256(e.Canonical()) }

// Checkpoint identifies an entry, and with it all entries before it. A copy that is kept elsewhere
// shows later whether the trail was rewritten.
type Checkpoint struct {
	Number int64
	Hash   Hash
}

// String returns NUMBER:HASH.
func (c Checkpoint) String() string { return strconv.FormatInt(c.Number, 10) + ":" + c.Hash.String() }

// errCheckpoint describes the form of a checkpoint.
var errCheckpoint = errors.New("not a checkpoint: want NUMBER:HASH, as audit verify prints it")

// ParseCheckpoint parses the result of String.
func ParseCheckpoint(text string) (Checkpoint, error) {
	number, hash, _ := strings.Cut(text, ":")
	var c Checkpoint
	var err error
	if c.Number, err = strconv.ParseInt(number, 10, 64); err != nil || c.Number < 1 {
		return Checkpoint{}, errCheckpoint
	}
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != len(c.Hash) {
		return Checkpoint{}, errCheckpoint
	}
	c.Hash = Hash(sum)
	return c, nil
}

// Fault is the first fault of a trail.
type Fault struct {
	// Number is the number of the entry at which the fault shows.
	Number int64
	// What describes the fault.
	What string
}

// Error implements error.
func (f *Fault) Error() string { return f.What }

func faultf(number int64, format string, args ...any) *Fault {
	return &Fault{Number: number, What: fmt.Sprintf(format, args...)}
}

// Verifier reads a trail from its first entry on and finds the first fault.
type Verifier struct {
	// Noted is a checkpoint that the trail must contain, nil for none.
	Noted *Checkpoint
	// Begin is the last entry that was removed because of its age, zero for none. The trail goes on
	// from there.
	Begin Checkpoint

	last   Checkpoint
	lastAt time.Time
	// said tells whether an entry says that the entries up to Begin were removed.
	said bool
}

// ActionRemove is the action of the entry that says which entries were removed.
const ActionRemove = "audit.remove"

// Removed is the After of an entry of ActionRemove: the last removed entry, and its hash.
type Removed struct {
	Number int64  `json:"number"`
	Hash   string `json:"hash"`
}

// before is the last entry that was read, or Begin if there was none.
func (v *Verifier) before() Checkpoint {
	if v.last.Number == 0 {
		return v.Begin
	}
	return v.last
}

// Last is the last entry that was found intact, and when it was written. The number is 0 if there
// is none.
func (v *Verifier) Last() (Checkpoint, time.Time) { return v.last, v.lastAt }

// Add checks the next entry in the order of numbers. After a Fault the verifier is done.
func (v *Verifier) Add(e *Entry) *Fault {
	before := v.before()
	next := before.Number + 1
	switch {
	case e.Number == v.last.Number && e.Number > 0:
		return faultf(e.Number, "entry %d was inserted: there are two of that number", e.Number)
	case e.Number < next:
		return faultf(e.Number, "entry %d was inserted: the first entry is number %d", e.Number, v.Begin.Number+1)
	case e.Number == next+1:
		return faultf(next, "entry %d is missing", next)
	case e.Number > next:
		return faultf(next, "entries %d to %d are missing", next, e.Number-1)
	case e.Sum() != e.Hash:
		return faultf(e.Number, "entry %d was changed: its hash is not that of its content", e.Number)
	case e.Prev != before.Hash && e.Number == 1:
		return faultf(e.Number, "entry 1 was replaced: it refers to an entry before it")
	case e.Prev != before.Hash && e.Number == v.Begin.Number+1:
		return faultf(
			e.Number,
			"entry %d was replaced, or the beginning was changed: it does not hold the hash of entry %d, the last "+
				"that was removed",
			e.Number,
			v.Begin.Number,
		)
	case e.Prev != before.Hash:
		return faultf(
			e.Number,
			"entry %d or %d was replaced: %d does not hold the hash of %d",
			e.Number-1,
			e.Number,
			e.Number,
			e.Number-1,
		)
	case v.Noted != nil && v.Noted.Number == e.Number && v.Noted.Hash != e.Hash:
		return faultf(
			e.Number,
			"entry %d is not that of the checkpoint: it or an earlier one was written anew",
			e.Number,
		)
	}
	v.last, v.lastAt = Checkpoint{e.Number, e.Hash}, e.At
	v.said = v.said || e.says(v.Begin)
	return nil
}

// says tells whether the entry says that the entries up to the checkpoint were removed.
func (e *Entry) says(begin Checkpoint) bool {
	var removed Removed
	return e.Action == ActionRemove && json.Unmarshal(e.After, &removed) == nil &&
		removed == Removed{begin.Number, begin.Hash.String()}
}

// End checks the end of the trail. head is the head that the trail itself keeps, nil if it is gone;
// count is the number of entries.
func (v *Verifier) End(head *Checkpoint, count int64) *Fault {
	last := v.before()
	next := last.Number + 1
	switch {
	case head == nil:
		return faultf(last.Number, "the head is missing: entries after %d may have been removed", last.Number)
	case count > last.Number-v.Begin.Number:
		return faultf(
			last.Number,
			"%d entries are too many: they were inserted with a number of another, or with none",
			count-last.Number+v.Begin.Number,
		)
	case head.Number == next:
		return faultf(next, "entry %d, the last, is missing", next)
	case head.Number > next:
		return faultf(next, "entries %d to %d, the last, are missing", next, head.Number)
	case head.Number < last.Number:
		return faultf(
			head.Number+1,
			"entry %d was inserted, or the head was changed: the head is at entry %d",
			head.Number+1,
			head.Number,
		)
	case head.Hash != last.Hash:
		return faultf(
			head.Number,
			"entry %d was replaced, or the head was changed: the head has another hash",
			head.Number,
		)
	case v.Begin.Number > 0 && !v.said:
		return faultf(
			v.Begin.Number,
			"the entries up to %d are missing, and no entry says that they were removed",
			v.Begin.Number,
		)
	case v.Noted != nil && v.Noted.Number < v.Begin.Number:
		return faultf(
			v.Noted.Number,
			"entry %d, of the checkpoint, was removed with those up to %d: give a later checkpoint",
			v.Noted.Number,
			v.Begin.Number,
		)
	case v.Noted != nil && v.Noted.Number == v.Begin.Number && v.Noted.Hash != v.Begin.Hash:
		return faultf(
			v.Noted.Number,
			"entry %d, the last that was removed, is not that of the checkpoint: it or an earlier one was written anew",
			v.Noted.Number,
		)
	case v.Noted != nil && v.Noted.Number > last.Number:
		return faultf(
			next,
			"entries %d to %d are missing: the checkpoint is of entry %d",
			next,
			v.Noted.Number,
			v.Noted.Number,
		)
	}
	return nil
}
