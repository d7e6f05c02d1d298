package catalog

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lib/pq"

	"petstore.example/internal/catalog"
)

// A page has a bounded cost, whatever its filters are and however large the catalogue is, because
// each query reads an index in the order of IDs.
//
// Names are the exception, because they have no such order. So a query reads the IDs of at most
// maxNamed animals with that prefix from the index, sorts them, and looks up each. If there are
// more, it goes through the animals that meet the other filters in the order of IDs instead, until
// it has read maxScanned of them. The page then ends there, even if it is not full.
const (
	maxNamed   = 1_000
	maxScanned = 2_000
)

// petFilters is a query of a list of animals by some filters, and its arguments.
type petFilters struct {
	conditions []string
	args       []driver.Value
	byCategory bool
	byStatus   bool
}

// arg adds an argument and returns its number, as in $4.
func (f *petFilters) arg(v driver.Value) string {
	f.args = append(f.args, v)
	return "$" + strconv.Itoa(len(f.args))
}

func (f *petFilters) and(condition string) { f.conditions = append(f.conditions, condition) }

// where is the condition for the tenant's animals, from the ID $2 on.
func (f *petFilters) where() string {
	return strings.Join(
		append([]string{"where " + tenantSet + " and tenant_id = $1 and id > $2"}, f.conditions...),
		" and ",
	)
}

// inOrder selects the first animals in the order of IDs.
func (f *petFilters) inOrder(limit string) string {
	if !f.byCategory || f.byStatus {
		return selectPet + " " + f.where() + " order by id limit " + limit
	}
	// In the index by category, the animals of each status are in the order of IDs. Postgres merges
	// them and reads no more than it needs.
	var each []string
	for _, status := range []catalog.Status{catalog.Available, catalog.Pending, catalog.Sold} {
		each = append(
			each,
			"("+selectPet+" "+f.where()+" and status = '"+string(status)+"' order by id limit "+limit+")",
		)
	}
	return "select id, " + PetNames + " from (" + strings.Join(each, " union all ") + ") p order by id limit " + limit
}

// nameRange is the condition that a name begins with the prefix. In another form it would not use
// the index, because row-level security lets only some operators pass.
func (f *petFilters) nameRange(prefix string) string {
	condition := `name collate "C" >= ` + f.arg(prefix)
	if end := afterPrefix(prefix); end != "" {
		condition += ` and name collate "C" < ` + f.arg(end)
	}
	return condition
}

// byName selects the first animals by name in the order of IDs. A row with a negative ID says that
// the page ends after that animal, because maxScanned animals were read.
func (f *petFilters) byName(nameRange string) string {
	return fmt.Sprintf(
		`
with named as materialized (
  select id from pets where %[1]s and tenant_id = $1 and %[2]s order by name collate "C" limit %[3]d + 1
), few as materialized (
  select count(*) <= %[3]d as few from named
), scanned as materialized (
  select * from (%[4]s) s where not (select few from few)
), page as materialized (
  select * from scanned where %[2]s order by id limit $3
)
(select p.* from (select id from named where (select few from few) and id > $2 order by id) n
 cross join lateral (%[5]s %[6]s and id = n.id offset 0) p
 order by n.id limit $3)
union all
select * from page
union all
select -last, %[8]s from (select max(id) as last, count(*) as read from scanned) s where read = %[7]d and (select
	count(*) from page) < $3`,
		tenantSet,
		nameRange,
		maxNamed,
		f.inOrder(strconv.Itoa(maxScanned)),
		selectPet,
		f.where(),
		maxScanned,
		petList("'0'::{t}", 0),
	)
}

// filterPetsQuery is the query of filterPets, with its arguments.
func filterPetsQuery(tenantID int64, p catalog.Page) (query string, args []driver.Value) {
	f := newPetFilters(tenantID, p)
	query = f.inOrder("$3")
	switch {
	case p.IDs != nil:
		f.and("id = any(" + f.arg(idArray(p.IDs)) + ")")
		if p.NamePrefix != "" {
			f.and(f.nameRange(p.NamePrefix))
		}
		query = selectPet + " " + f.where() + " order by id limit $3"
	case p.NamePrefix != "":
		query = f.byName(f.nameRange(p.NamePrefix))
	}
	return query, f.args
}

// filterPets lists animals with other filters than status alone.
func (d Pets) filterPets(ctx context.Context, tenantID int64, p catalog.Page) (_ []catalog.Pet, next int64, err error) {
	query, args := filterPetsQuery(tenantID, p)
	pets, ends := []catalog.Pet{}, int64(0)
	err = d.db.Direct(ctx, func(row []driver.Value) error {
		if pet := petOf(row); pet.ID > 0 {
			pets = append(pets, pet)
		} else {
			ends = -pet.ID
		}
		return nil
	}, query, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("list pets: %w", err)
	}
	pets, next = cutPage(pets, p.Limit)
	return pets, max(next, ends), nil
}

func idArray(ids []int64) driver.Value {
	v, _ := pq.Array(ids).Value() // Value never fails for a slice of integers.
	return v
}

// afterPrefix returns the first text after all texts that begin with the prefix, in the order of
// code points; "" if there is none.
func afterPrefix(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune:
		case 0xD7FF: // The next code points are surrogates, which no text contains.
			return prefix + "\uE000"
		default:
			return prefix + string(last+1)
		}
	}
	return ""
}
