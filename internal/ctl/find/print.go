package find

import (
	"encoding/json"
	"slices"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/ctl/key"
	"petstore.example/internal/ctl/output"
	"petstore.example/internal/ctl/tenant"
	"petstore.example/internal/keys"
	"petstore.example/internal/store"
	"petstore.example/internal/usage"
)

var (
	// HitView shows a match.
	HitView = output.View[store.Hit]{
		{Name: "kind", Value: func(h store.Hit) any { return string(h.Kind) }, InList: true},
		{Name: "by", Value: func(h store.Hit) any { return h.By }, InList: true},
		{Name: "match", Value: func(h store.Hit) any { return h.Match }, InList: true, MinWidth: output.TextWidth},
		{Name: "tenant", Value: func(h store.Hit) any { return h.Tenant }, InList: true, MinWidth: output.TextWidth},
		{Name: "tenant_id", Value: func(h store.Hit) any { return output.NumberOrNil(h.TenantID) }},
		{Name: "key_id", Value: func(h store.Hit) any { return h.KeyID }, InList: true},
		{Name: "number", Value: func(h store.Hit) any { return output.NumberOrNil(h.Number) }},
	}
	failedView = output.View[usage.FailedRequest]{
		{Name: "at", Heading: "FAILED AT", Value: func(r usage.FailedRequest) any { return r.At }, InList: true},
		{Name: "status", Value: func(r usage.FailedRequest) any { return int64(r.Status) }},
		{Name: "code", Value: func(r usage.FailedRequest) any { return r.Code }, InList: true},
		{Name: "key_id", Value: func(r usage.FailedRequest) any { return r.KeyID }, InList: true},
		{Name: "request_id", Value: func(r usage.FailedRequest) any { return r.RequestID }, InList: true, MinWidth: output.IDWidth},
	}
	banView = output.View[keys.Key]{
		{Name: "key_id", Heading: "BANNED KEY", Value: func(k keys.Key) any { return k.ID }, InList: true},
		{Name: "ends_at", Heading: "UNTIL", Value: func(k keys.Key) any { return k.Ban.EndsAt }, InList: true},
		{Name: "source", Value: func(k keys.Key) any { return string(k.Ban.Source) }, InList: true},
		{Name: "reason", Value: func(k keys.Key) any { return k.Ban.Reason }, InList: true, MinWidth: output.TextWidth},
	}
)

// View shows a result as one object.
var View = output.View[*result]{
	{Name: "matches", Value: func(r *result) any { return output.ListJSON(HitView, r.hits) }},
	{Name: "tenant", Value: func(r *result) any { return r.tenantJSON() }},
	{Name: "used_today", Value: func(r *result) any { return r.count(r.today.TenantAdmitted) }},
	{Name: "refused_today", Value: func(r *result) any { return r.count(r.today.TenantRefused) }},
	{Name: "all_keys", Value: func(r *result) any { return r.count(int64(r.allKeys)) }},
	{Name: "keys", Value: func(r *result) any { return output.ListJSON(r.keyView(), r.keys) }},
	{Name: "bans", Value: func(r *result) any { return output.ListJSON(banView, r.banned()) }},
	{Name: "failed_requests", Value: func(r *result) any { return output.ListJSON(failedView, r.failed) }},
	{Name: "next", Value: func(r *result) any { return slices.Concat(r.next(), r.ifLeaked()) }},
}

func (r *result) tenantJSON() json.RawMessage {
	if r.tenant == nil {
		return nil
	}
	return output.ItemJSON(tenant.View, *r.tenant)
}

// count is nil without a tenant.
func (r *result) count(n int64) *int64 {
	if r.tenant == nil {
		return nil
	}
	return &n
}

func (r *result) keyView() output.View[keys.Key] {
	v := key.View(r.now).Hide("tenant")
	for i, c := range v {
		switch c.Name {
		case "id":
			v[i].Heading = "KEY ID"
		case "status":
			v[i].Value = func(k keys.Key) any {
				if r.tenant != nil && !r.tenant.SuspendedAt.IsZero() && k.Status(r.now) == keys.Active {
					return "suspended"
				}
				return c.Value(k)
			}
		}
	}
	return v
}

// print prints one object in JSON, otherwise the screen to a person and a line for each match to a program.
func (r *result) print(f *cmdutil.Factory) error {
	p := f.Printer()
	switch {
	case p.Format == "json":
		return output.Item(p, View, r)
	case r.hit != nil && !p.Whole() && p.Format == "table":
		return r.printScreen(f)
	}
	if len(r.hits) > listed {
		f.Messagef("more than %d match, and the first are shown; give more of the name, or use the filters of: petstorectl tenant list, petstorectl key list", listed)
	}
	return cmdutil.PrintList(f, HitView, r.hits[:min(listed, len(r.hits))])
}
