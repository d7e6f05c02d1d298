package tenancy

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"petstore.example/internal/store/pgconn"
)

// HitKind is the kind of thing that a word names.
type HitKind string

// The kinds of hits. A request is a stored failed request; an entry is one of the audit trail.
const (
	HitTenant  HitKind = "tenant"
	HitKey     HitKind = "key"
	HitBan     HitKind = "ban"
	HitRequest HitKind = "request"
	HitEntry   HitKind = "entry"
)

// Hit is something that a word names.
type Hit struct {
	Kind HitKind
	// By is the member that matches, such as "billing_ref", Match its value.
	By, Match string
	// Certainty says how surely the hit was meant: 0 for an exact ID or name, more for less.
	Certainty int
	// TenantID is 0 for a request without a known key, and for an entry that concerns no tenant.
	// Tenant is its name, "" if it was erased.
	TenantID int64
	Tenant   string
	// KeyID is the ID of a key, or of the key of a ban or request; "" for none.
	KeyID string
	// Number is the number of a ban or an entry, otherwise 0.
	Number int64
}

// MaxHits is the most hits that Find returns for each member.
const MaxHits = 21

// matcher finds the items that have a word in one of their members.
type matcher struct {
	kind      HitKind
	by        string
	certainty int
	// arg returns the word as the query's argument; false if no such member can have it.
	arg func(word string) (any, bool)
	// query selects tenant_id, tenant, key_id, number and match, for the argument $1.
	query string
}

const (
	ofTenant = `select t.id as tenant_id, t.name as tenant, '' as key_id, 0 as number, `
	ofKey    = `select t.id as tenant_id, t.name as tenant, k.id as key_id, 0 as number, `
	keysOf   = ` from api_keys k join tenants t on t.id = k.tenant_id `
)

// The certainties.
const (
	exactly = iota
	// A number more likely means a tenant, because few people know the number of a ban or an entry.
	byNumber
	byLast4
	byKeyName
	byPrefix
	// Parts of words are tried only if nothing else matches.
	byPart
)

// matchers are in the order of certainty, and then of how often such items are looked for.
var matchers = []matcher{
	{HitTenant, "name", exactly, asName, ofTenant + `t.name as match from tenants t where t.name = $1`},
	{
		HitTenant,
		"number",
		exactly,
		asTenantNumber,
		ofTenant + `'#' || t.id as match from tenants t where t.id = $1::bigint`,
	},
	{
		HitTenant,
		"billing_ref",
		exactly,
		asWord,
		ofTenant + `t.billing_ref as match from tenants t where t.billing_ref = $1 order by t.id`,
	},
	{
		HitTenant,
		"email",
		exactly,
		asAddress,
		ofTenant + `t.email as match from tenants t where lower(t.email) = $1 order by t.id`,
	},
	{HitKey, "id", exactly, asWord, ofKey + `k.id as match` + keysOf + `where k.id = $1`},
	{HitRequest, "id", exactly, asWord, `
		select distinct coalesce(f.tenant_id, 0) as tenant_id, coalesce(t.name, '') as tenant, coalesce(f.key_id, '')
			as key_id, 0 as number,
		       f.request_id as match
		from failed_requests f left join tenants t on t.id = f.tenant_id where f.request_id = $1`},
	{HitBan, "number", byNumber, asNumber, `
		select t.id as tenant_id, t.name as tenant, b.key_id, b.id as number, b.id::text as match
		from bans b join tenants t on t.id = b.tenant_id where b.id = $1::bigint`},
	{HitEntry, "number", byNumber, asNumber, `
		select coalesce(a.tenant_id, 0) as tenant_id, coalesce(t.name, '') as tenant, coalesce(k.id, '') as key_id,
			a.number, a.number::text as match
		from audit_entries a left join tenants t on t.id = a.tenant_id and t.erased_at is null left join api_keys k on
			k.id = a.subject
		where a.number = $1::bigint`},

	{HitKey, "last4", byLast4, asLast4, ofKey + `k.last4 as match` + keysOf + `where k.last4 = $1 order by k.id`},
	{
		HitKey,
		"name",
		byKeyName,
		asLower,
		ofKey + `k.name as match` + keysOf + `where lower(k.name) = $1 and k.name <> '' order by k.id`,
	},

	{
		HitTenant,
		"name",
		byPrefix,
		asNamePrefix,
		ofTenant + `t.name as match from tenants t where t.name like $1 order by t.name using ~<~`,
	},
	{HitTenant, "email", byPrefix, asLowerPrefix, ofTenant + `t.email as match from tenants t
		where lower(t.email) like $1 order by lower(t.email) using ~<~`},
	{HitTenant, "billing_ref", byPrefix, asPrefix, ofTenant + `t.billing_ref as match from tenants t
		where t.billing_ref like $1 order by t.billing_ref using ~<~`},
	{HitKey, "name", byPrefix, asLowerPrefix, ofKey + `k.name as match` + keysOf + `
		where lower(k.name) like $1 and k.name <> '' order by lower(k.name) using ~<~, k.id`},

	{
		HitTenant,
		"name",
		byPart,
		asNamePart,
		ofTenant + `t.name as match from tenants t where t.name like $1 order by t.name using ~<~`,
	},
	{HitTenant, "email", byPart, asLowerPart, ofTenant + `t.email as match from tenants t
		where lower(t.email) like $1 order by lower(t.email) using ~<~`},
}

// Find returns what the word names, the most certain first. A login that may read only tenants finds
// nothing else; if it finds none, the error is that it may not read the rest.
func (d Tenancy) Find(ctx context.Context, word string) ([]Hit, error) {
	type subject struct {
		kind   HitKind
		tenant int64
		key    string
		number int64
	}
	var hits []Hit
	var forbidden error
	found := map[subject]bool{}
	for _, m := range matchers {
		if m.certainty == byPart && len(hits) > 0 {
			break
		}
		arg, ok := m.arg(word)
		if !ok {
			continue
		}
		matches, err := m.find(ctx, d.db, arg)
		if pgconn.IsForbidden(err) && m.kind != HitTenant {
			forbidden = err
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find %s by %s: %w", m.kind, m.by, err)
		}
		for _, h := range matches {
			if s := (subject{h.Kind, h.TenantID, h.KeyID, h.Number}); !found[s] {
				found[s] = true
				hits = append(hits, h)
			}
		}
	}
	if len(hits) == 0 {
		return nil, forbidden
	}
	return hits, nil
}

type hitRow struct {
	TenantID int64  `db:"tenant_id"`
	Tenant   string `db:"tenant"`
	KeyID    string `db:"key_id"`
	Number   int64  `db:"number"`
	Match    string `db:"match"`
}

func (m matcher) find(ctx context.Context, q pgconn.Queryer, arg any) ([]Hit, error) {
	return pgconn.Collect(ctx, q, func(r hitRow) Hit {
		return Hit{m.kind, m.by, r.Match, m.certainty, r.TenantID, r.Tenant, r.KeyID, r.Number}
	}, m.query+` limit $2`, arg, MaxHits)
}

var (
	tenantNumber = regexp.MustCompile(`^(?:#|tenant:)?([1-9][0-9]{0,17})$`)
	number       = regexp.MustCompile(`^[1-9][0-9]{0,17}$`)
	last4        = regexp.MustCompile(`^[0-9A-Za-z]{4}$`)
)

func asWord(word string) (any, bool) { return word, true }

func asLower(word string) (any, bool) { return strings.ToLower(word), true }

func asAddress(word string) (any, bool) { return strings.ToLower(word), strings.Contains(word, "@") }

func asNumber(word string) (any, bool) { return word, number.MatchString(word) }

func asTenantNumber(word string) (any, bool) {
	if m := tenantNumber.FindStringSubmatch(word); m != nil {
		return m[1], true
	}
	return nil, false
}

func asLast4(word string) (any, bool) { return word, last4.MatchString(word) }

// asName returns the name that a tenant for a company of that name would have.
func asName(word string) (any, bool) { return name(word), true }

func name(word string) string { return strings.Join(strings.Fields(strings.ToLower(word)), "-") }

func asNamePrefix(word string) (any, bool) { return pgconn.LikePrefix(name(word)), true }

// minPart is the least length of a part of a text: the indexes have parts of three characters.
const minPart = 3

func asNamePart(word string) (any, bool) {
	return "%" + pgconn.LikePrefix(name(word)), len(name(word)) >= minPart
}

func asLowerPart(word string) (any, bool) {
	return "%" + pgconn.LikePrefix(strings.ToLower(word)), len(word) >= minPart
}

func asLowerPrefix(word string) (any, bool) { return pgconn.LikePrefix(strings.ToLower(word)), true }

func asPrefix(word string) (any, bool) { return pgconn.LikePrefix(word), true }
