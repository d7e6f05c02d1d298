package storetest

import (
	"context"
	"fmt"
)

// rewriteAudit changes the entries and computes the chain again. %s are assignments to the record
// e, run for every entry.
const rewriteAudit = `
	do $rewrite$
	declare
	  e    audit_entries;
	  head audit_head := (true, 0, decode(repeat('00', 32), 'hex'));
	begin
	  for e in select * from audit_entries order by number loop
	    %s;
	    e.prev := head.hash;
	    head.number := e.number;
	    head.hash := sha256(convert_to(audit_canonical(e), 'UTF8'));
	    e.hash := head.hash;
	    delete from audit_entries where number = e.number;
	    insert into audit_entries values (e.*);
	  end loop;
	  update audit_head set number = head.number, hash = head.hash;
	end $rewrite$`

// RewriteAudit changes all entries of the audit trail and computes all hashes again, as the owner
// of the tables could. set is an assignment to the record e in PL/pgSQL, such as "e.reason := 'x'".
func RewriteAudit(ctx context.Context, ownerURL, set string) error {
	return ForgeAudit(ctx, ownerURL, fmt.Sprintf(rewriteAudit, set))
}

// ForgeAudit disables the triggers of the audit trail as its owner, runs a statement, and enables
// them again.
func ForgeAudit(ctx context.Context, ownerURL, statement string) error {
	// Without arguments the statements are one transaction.
	return run(ctx, ownerURL, `
		alter table audit_entries disable trigger user;
		alter table audit_head disable trigger user;
		`+statement+`;
		do $enable$
		declare
		  t record;
		begin
		  for t in select tgrelid::regclass as tab, tgname from pg_trigger
		    where tgrelid in ('audit_entries'::regclass, 'audit_head'::regclass) and not tgisinternal
		  loop
		    execute format('alter table %s enable %s trigger %I', t.tab, case t.tgname when 'audit_append' then ''
		        else 'always' end, t.tgname);
		  end loop;
		end $enable$`)
}
