package tenancy_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"petstore.example/internal/keys"
	"petstore.example/internal/plans"
	"petstore.example/internal/store/tenancy"
	"petstore.example/internal/store/undo"
	"petstore.example/internal/test/assert"
	"petstore.example/internal/test/fixture"
)

// mayDiffer are the differences between the doors that are meant, by what staff and what a customer
// get for the same change. Of all others both get the same. Beside these, staff need no key, act in
// both environments, and give a reason of 500 characters to the entry; a customer's has 200, and is
// a member of the record that can be erased.
var mayDiffer = map[[2]string]string{
	{"", "last"}:            "staff may end or narrow the last key that manages keys",
	{"", "inactive"}:        "staff may rename a key that has expired, and change what it may do",
	{"expired", "inactive"}: "customers are told of both at once",
	{"revoked", "inactive"}: "customers are told of both at once",
	{"past", "inactive"}:    "staff learn of a bad expiry before the key is read",
	{"past", "last"}:        "staff learn of a bad expiry before the key is read",
	{"revoked", ""}:         "for a customer a second revocation is none",
	{"full", "last"}:        "the last key is asked for first",
	{"rotated", "last"}:     "the last key is asked for first",
}

// doors are two tenants in the same state, whose keys are changed by staff and by themselves.
type doors struct {
	selfService
	tenants [2]plans.Tenant
	ids     [2][]string
	labels  map[string]string // by ID
	given   map[int64]string  // the expiries that were given, by microsecond
	start   time.Time
	done    []string
}

const staffDoor, ownDoor = 0, 1

func (s selfService) newDoors(t *testing.T, n int) *doors {
	t.Helper()
	d := &doors{selfService: s, labels: map[string]string{}, given: map[int64]string{}, start: time.Now()}
	for door, name := range []string{"staff", "own"} {
		d.tenants[door] = s.Tenant(t, fmt.Sprint(name, "-", n), plans.Pro)
		for i := range 2 + n%9 {
			scope := keys.Scopes[2-min(i, 3)%3]
			k, _ := s.key(t, keys.Request{Tenant: d.tenants[door].Name, Scope: scope})
			d.add(door, k.ID)
		}
	}
	return d
}

func (d *doors) add(door int, id string) {
	d.labels[id] = fmt.Sprint("key", len(d.ids[door]))
	d.ids[door] = append(d.ids[door], id)
}

// doorChange is a change of the key with that number.
type doorChange struct {
	action string
	key    int
	edit   keys.Edit
	grace  time.Duration
}

func (d *doors) randomEdit(r *rand.Rand) (e keys.Edit) {
	one := func(of int) bool { return r.IntN(of) == 0 }
	if one(2) {
		e.Name = new([]string{"", "nightly", "import", "Ĳssel \u2764", strings.Repeat("é", 100),
			strings.Repeat("x", 101), " \t", "a\nb", "\xff"}[r.IntN(9)])
	}
	if one(3) {
		e.Scope = new(append(keys.Scopes, keys.ScopeManage, "admin")[r.IntN(5)])
	}
	if one(3) {
		e.Allowed = new([]keys.Ranges{"", "10.0.0.0/8", "192.0.2.1,2001:db8::/32", "10.0.0.0/8,::1"}[r.IntN(4)])
	}
	if one(3) {
		e.PerMinute = new([]int64{0, 1, 50, 1 << 40, -1}[r.IntN(5)])
	}
	if one(3) {
		at := d.start.Add([]time.Duration{-time.Hour, time.Hour, 50 * time.Hour, 999 * time.Hour}[r.IntN(4)])
		at = at.Add(time.Duration(r.IntN(1e6)) * time.Microsecond).Truncate(time.Microsecond)
		d.given[at.UnixMicro()] = fmt.Sprint("given", len(d.given))
		if e.ExpiresAt = &at; one(4) {
			e.ExpiresAt = new(time.Time)
		}
	}
	return e
}

func (d *doors) randomChange(r *rand.Rand) doorChange {
	c := doorChange{key: r.IntN(len(d.ids[0])), edit: d.randomEdit(r), grace: time.Duration(r.IntN(4)) * time.Hour}
	c.action = []string{"key.issue", "key.edit", "key.rotate", "key.rotate", "key.rotate", "key.revoke"}[r.IntN(6)]
	switch c.action {
	case "key.rotate":
		c.edit = keys.Edit{ExpiresAt: c.edit.ExpiresAt}
	case "key.revoke":
		c.edit = keys.Edit{}
	}
	return c
}

// byStaff makes the change by staff's door, and returns the new key.
func (d *doors) byStaff(t *testing.T, c doorChange, dry bool) (k keys.Key, ended []string, err error) {
	by, e := fixture.Jo, newKey(c.edit)
	by.DryRun = dry
	id := d.ids[staffDoor][c.key]
	switch c.action {
	case "key.issue":
		r := keys.Request{Tenant: d.tenants[staffDoor].Name, Environment: keys.Live, Name: *e.Name, Scope: *e.Scope,
			Allowed: *e.Allowed}
		if e.PerMinute != nil {
			r.PerMinute = *e.PerMinute
		}
		if e.ExpiresAt != nil {
			r.ExpiresAt = *e.ExpiresAt
		}
		k, _, err = d.staff.Issue(t.Context(), by, r)
	case "key.edit":
		_, k, err = d.staff.Edit(t.Context(), by, id, c.edit)
	case "key.rotate":
		var rotated keys.Rotated
		rotated, _, err = d.staff.Rotate(t.Context(), by, id,
			keys.Rotation{GracePeriod: c.grace, ExpiresAt: c.edit.ExpiresAt})
		k, ended = rotated.New, rotated.Ended
	default:
		k, err = d.staff.Revoke(t.Context(), by, id)
	}
	return k, ended, err
}

// byCustomer makes it by the customer's own, with another key that may; ok is false if there is none.
func (d *doors) byCustomer(t *testing.T, c doorChange) (k keys.CustomerKey, ok bool, err error) {
	id := d.ids[ownDoor][c.key]
	var digests [][]byte
	d.Rows(t, &digests, `
		select digest from api_keys k where tenant_id = $1 and id <> $2 and scope = 'manage' and revoked_at is null
		  and (expires_at is null or expires_at > now()) and not exists (
		    select from bans b where b.key_id = k.id and b.lifted_at is null and b.ends_at > now())
		order by created_at limit 1`, d.tenants[ownDoor].ID, id)
	if len(digests) == 0 {
		return k, false, nil
	}
	k, err = d.change(t.Context(), keys.Digest(digests[0]),
		keys.CustomerChange{Action: c.action, ID: id, Edit: c.edit, GracePeriod: c.grace}, nil)
	return k, true, err
}

// kinds are the refusals of both doors.
var kinds = []struct {
	err  error
	name string
}{
	{keys.ErrKeyName, "name"}, {keys.ErrScope, "scope"}, {keys.ErrPerMinute, "limit"},
	{keys.ErrTextBlank, "blank"}, {keys.ErrTextCharacter, "character"},
	{keys.ErrLastManageKey, "last"}, {keys.ErrKeyInactive, "inactive"}, {keys.ErrKeyRevoked, "revoked"},
	{keys.ErrKeyExpired, "expired"}, {keys.ErrTooManyKeys, "full"}, {keys.ErrExpiryPast, "past"},
}

// kindOf names a refusal, "" for none.
func (d *doors) kindOf(err error) string {
	if err == nil {
		return ""
	}
	if rotatedBy(err) != "" {
		return "rotated"
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if own := (*undo.Error)(nil); errors.As(err, &own) && own.Err == nil {
		return digits.ReplaceAllString(own.Why, "0")
	}
	return err.Error()
}

var digits = regexp.MustCompile(`[0-9]+`)

// make makes a change by both doors, and compares what they return. It returns how many other keys
// ended.
func (d *doors) make(t *testing.T, c doorChange) int {
	t.Helper()
	own, ok, err := d.byCustomer(t, c)
	if !ok {
		return 0
	}
	customer := d.kindOf(err)
	d.done = append(d.done, fmt.Sprintf("%+v: %s", c, customer))
	k, ended, err := d.byStaff(t, c, customer == "last" || customer == "inactive")
	staff := d.kindOf(err)
	if staff != customer {
		if mayDiffer[[2]string{staff, customer}] == "" {
			t.Errorf("staff get %q, customers %q: %+v", staff, customer, c)
		}
		return 0
	}
	if err != nil {
		return 0
	}
	if c.action == "key.issue" || c.action == "key.rotate" {
		d.add(staffDoor, k.ID)
		d.add(ownDoor, own.ID)
	}
	shown := func(k keys.Key, ended []string) (text string) {
		text = fmt.Sprint(d.labels[k.ID], k.Name, k.PerMinute, k.Scope, k.Allowed, k.RevokedAt.IsZero(),
			d.plain(k.ExpiresAt.Format(time.RFC3339Nano)))
		for _, id := range ended {
			text += " " + d.labels[id]
		}
		return text
	}
	assert.Equal(t, shown(own.Key, own.AlsoEnded), shown(k, ended), c)
	return len(ended)
}

// state is what the database has of the tenant: its keys, their bans, the entries of its changes
// after the first keys and what their undo needs.
func (d *doors) state(t *testing.T, door int) (rows []string) {
	t.Helper()
	for _, query := range []string{
		`select to_jsonb(k) from api_keys k where tenant_id = $1 order by array_position($2, id)`,
		`select to_jsonb(b) - 'id' from bans b where tenant_id = $1 order by id`,
		`select to_jsonb(e) from audit_entries e where tenant_id = $1 and subject = any($2) order by number`,
		`select to_jsonb(u) || jsonb_build_object('first_number', number - first_number)
		 from undo_values u where tenant_id = $1 and $2::text[] is not null order by number`,
	} {
		var texts []string
		if strings.Contains(query, "from bans") {
			d.Rows(t, &texts, query, d.tenants[door].ID)
		} else {
			d.Rows(t, &texts, query, d.tenants[door].ID, "{"+strings.Join(d.ids[door], ",")+"}")
		}
		for _, text := range texts {
			var row map[string]any
			assert.NoError(t, json.Unmarshal([]byte(text), &row))
			plain, err := json.Marshal(d.plain(row))
			assert.NoError(t, err)
			rows = append(rows, string(plain))
		}
	}
	return rows
}

// differByDoor are the members that differ by the door and by chance.
var differByDoor = []string{"tenant_id", "digest", "last4", "number", "hash", "prev", "claimed_actor", "login",
	"address", "reason", "revoked_by"}

// plain is a value without what differs by chance. Times of the change itself are rounded; those of
// records have a form of their own.
func (d *doors) plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		plain := map[string]any{}
		for name, value := range v {
			if !slices.Contains(differByDoor, name) {
				plain[name] = d.plain(value)
			}
		}
		return plain
	case string:
		if label := d.labels[v]; label != "" {
			return label
		}
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil && !at.IsZero() {
			label := cmp.Or(d.given[at.UnixMicro()], at.Sub(d.start).Round(10*time.Minute).String())
			if v == at.UTC().Format(time.RFC3339Nano) {
				label += " Z"
			}
			return label
		}
	}
	return value
}

// rotateAll rotates ten keys and their replacements, until the grace periods of others end.
func (d *doors) rotateAll(t *testing.T) {
	t.Helper()
	for key := range 12 {
		ended := d.make(t, doorChange{action: "key.rotate", key: key, grace: time.Hour})
		assert.Equal(t, ended, key/keys.MaxInGrace, "ended with rotation", key)
	}
}

// sequence makes some changes of which staff take some back, with bans and ends of keys in between,
// and compares what they leave.
func (d *doors) sequence(t *testing.T, r *rand.Rand) {
	t.Helper()
	if len(d.ids[0]) == keys.MaxActive {
		d.rotateAll(t)
	}
	for range 3 + r.IntN(20) {
		before := d.Text(t, `select number::text from audit_head`)
		key := r.IntN(len(d.ids[0]))
		switch r.IntN(16) {
		case 0:
			for _, ids := range d.ids {
				_, err := d.Bans.Place(t.Context(), fixture.Jo,
					tenancy.NewBan{KeyID: ids[key], Length: time.Hour, Reason: "abuse"}, time.Now())
				d.done = append(d.done, fmt.Sprint("ban ", key, err))
			}
		case 1:
			d.done = append(d.done, fmt.Sprint("expire ", key))
			d.Exec(
				t,
				`update api_keys set expires_at = now() where id in ($1, $2) and coalesce(expires_at > now(), true)`,
				d.ids[0][key],
				d.ids[1][key],
			)
		default:
			d.make(t, d.randomChange(r))
		}
		if r.IntN(3) == 0 {
			d.takeBack(t, before, r.IntN(2))
		}
	}
	states := [2][]string{d.state(t, staffDoor), d.state(t, ownDoor)}
	assert.DeepEqual(t, states[ownDoor], states[staffDoor], strings.Join(d.done, "\n"))
}

// takeBack takes the entries after that number back, for each tenant alone: all, or the first.
func (d *doors) takeBack(t *testing.T, after string, most int) {
	t.Helper()
	var refused []string
	for door := range d.tenants {
		var numbers []int64
		d.Rows(t, &numbers, `
			select number from audit_entries where number > $1 and tenant_id = $2 order by number limit nullif($3, 0)`,
			after, d.tenants[door].ID, most)
		if len(numbers) > 0 {
			_, err := d.Undos.Do(t.Context(), fixture.Jo, numbers, time.Now())
			refused = append(refused, d.kindOf(err))
		}
	}
	d.done = append(d.done, fmt.Sprint("undo ", refused))
	assert.True(t, len(refused) != 1 && (len(refused) == 0 || refused[0] == refused[1]), "undo", refused)
}

// TestBothDoors: staff and customers leave the same by the same changes.
func TestBothDoors(t *testing.T) {
	t.Parallel()
	const workers = 4
	sequences := 300
	if testing.Short() { // In make test; 300 take a minute.
		sequences = 30
	}
	for w := range workers {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			s := newSelfService(t)
			for n := w; n < sequences && !t.Failed(); n += workers {
				s.newDoors(t, n).sequence(t, rand.New(rand.NewPCG(59, uint64(n))))
			}
		})
	}
}

// TestWhatADoorKeepsShut: members and actions of the engine that are not for customers, and whose
// revocation can be taken back by whom.
func TestWhatADoorKeepsShut(t *testing.T) {
	t.Parallel()
	s := newSelfService(t)
	s.Tenant(t, "zoo", plans.Pro)
	write, _ := s.key(t, keys.Request{})
	expired, _ := s.key(t, keys.Request{})
	revoked, _ := s.key(t, keys.Request{})
	s.Exec(t, `update api_keys set expires_at = now() where id = $1`, expired.ID)
	customer, staff := fixture.Connect(t, s.APIURL), fixture.Connect(t, s.SupportURL)
	manage := func(action, target, change string) error {
		_, err := customer.ExecContext(
			t.Context(),
			`select manage_key($1, $2, $3, $4)`,
			s.requester[:],
			action,
			target,
			change,
		)
		return keyRefusalName(err)
	}
	for _, c := range [][4]string{
		{"key.revoke", revoked.ID, `{}`, ""},
		{"key.unrevoke", revoked.ID, `{}`, "customer_keys_scope"},
		{"key.edit", expired.ID, `{"restores": "key.edit", "expires_at": null}`, "customer_keys_inactive"},
		{"key.edit", write.ID, `{"restores": "key.edit", "expires_at": "2020-01-01Z"}`, "customer_keys_expiry"},
		{"key.rotate", write.ID, `{"id": "key_r0tated000000000", "last4": "abcd", "grace": 0, "scope": "manage",
			"name": "x", "allowed": "10.0.0.0/8", "per_minute": 7, "digest": "` + strings.Repeat("01", 32) + `"}`, ""},
		{"key.issue", "key_1ssued0000000000", `{"tenant_id": 2, "environment": "test", "name": "", "scope": "read",
			"allowed": "", "last4": "abcd", "digest": "` + strings.Repeat("02", 32) + `"}`, ""},
	} {
		got := ""
		if err := manage(c[0], c[1], c[2]); err != nil {
			got = err.Error()
		}
		assert.Equal(t, got, c[3], c[:3])
	}
	s.Want(t, "1 live read {} 1 live write {}", `
		select string_agg(concat_ws(' ', tenant_id, environment, scope, allowed), ' ' order by scope) from api_keys
		where last4 = 'abcd'`)

	revokedBy := `select coalesce(revoked_by, 'a customer') from api_keys where id = $1`
	s.Want(t, "a customer", revokedBy, revoked.ID)
	s.Want(t, "key:"+s.boss.ID, `select claimed_actor from audit_entries where action = 'key.revoke' and subject = $1`,
		revoked.ID)
	for _, statement := range []string{
		`select change_key_as_staff('key.revoke', $1, '{}', now())`,
		`update api_keys set revoked_at = now() where id = $1`,
	} {
		k, _ := s.key(t, keys.Request{})
		tx := staff.MustBegin()
		tx.MustExec(`set local petstore.door = 'customer'`)
		tx.MustExec(statement, k.ID)
		assert.NoError(t, tx.Commit())
		s.Want(t, "sam", revokedBy, k.ID)
	}
	var digests int
	assert.NoError(t, staff.Get(&digests, `
		select count((c.after).digest) + count((c.before).digest)
		from change_key_as_staff('key.edit', $1, '{"name": "y"}', now()) c`, s.boss.ID))
	assert.Equal(t, digests, 0, "digests that leave the database")
}

// keyRefusalName is the rule that refuses a change, as an error.
func keyRefusalName(err error) error {
	if refused := pq.As(err); refused != nil {
		return errors.New(refused.Constraint)
	}
	return err
}
