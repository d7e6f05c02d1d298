// Command oapi-codegen runs the flow with oapi-codegen's client.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	api "petstore.example/tools/generators/oapi-codegen/generated"
)

func main() {
	log.SetFlags(0)
	f := flow{ctx: context.Background(), as: newClient(os.Getenv("PETSTORE_API_KEY"))}
	f.add()
	f.list()
	f.change()
	f.order()
	f.errors()
}

// flow is the client, and what it has added.
type flow struct {
	ctx      context.Context
	as       *api.ClientWithResponses
	rex, mia int64
	// etag is the ETag of Mia after the animal was added. A proxy that compresses makes it weak.
	etag string
}

func newClient(key string) *api.ClientWithResponses {
	bearer := func(_ context.Context, req *http.Request) error {
		req.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("PETSTORE_URL"), api.WithRequestEditorFn(bearer))
	must(err)
	return client
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// say prints the result of a step of the flow.
func say(step string, got ...any) { fmt.Print(step, ": ", fmt.Sprintln(got...)) }

func names(pets []api.Pet) (all string) {
	for i, p := range pets {
		if i > 0 {
			all += ","
		}
		all += p.Name
	}
	return all
}

func (f *flow) add() {
	rex, err := f.as.CreatePetWithResponse(f.ctx, nil, api.NewPet{Name: "Rex", CategoryId: 7})
	must(err)
	say("add", rex.StatusCode(), rex.JSON201.Name, rex.JSON201.CategoryId, *rex.JSON201.Status)
	mia, err := f.as.CreatePetWithResponse(
		f.ctx,
		nil,
		api.NewPet{Name: "Mia", CategoryId: -8, Status: new(api.Pending)},
	)
	must(err)
	say("add with a status", mia.StatusCode(), mia.JSON201.Name, mia.JSON201.CategoryId, *mia.JSON201.Status)
	once := &api.CreatePetParams{IdempotencyKey: new("row-17")}
	tom, err := f.as.CreatePetWithResponse(f.ctx, once, api.NewPet{Name: "Tom", CategoryId: 9, Status: new(api.Sold)})
	must(err)
	say("add once", tom.StatusCode(), tom.JSON201.Name, tom.Headers201.IdempotentReplayed != nil)
	again, err := f.as.CreatePetWithResponse(f.ctx, once, api.NewPet{Name: "Tom", CategoryId: 9, Status: new(api.Sold)})
	must(err)
	say("add once again", again.StatusCode(), again.JSON201.Id == tom.JSON201.Id, *again.Headers201.IdempotentReplayed)
	f.rex, f.mia, f.etag = rex.JSON201.Id, mia.JSON201.Id, strings.TrimPrefix(*mia.Headers201.ETag, "W/")
}

func (f *flow) list() {
	first, err := f.as.ListPetsWithResponse(f.ctx, &api.ListPetsParams{Limit: new(2)})
	must(err)
	say("list", first.StatusCode(), names(*first.JSON200))
	last, err := f.as.ListPetsWithResponse(
		f.ctx,
		&api.ListPetsParams{Limit: new(2), Cursor: first.Headers200.XNextCursor},
	)
	must(err)
	say("last page", last.StatusCode(), names(*last.JSON200), last.Headers200.XNextCursor != nil)
	unchanged, err := f.as.ListPetsWithResponse(
		f.ctx,
		&api.ListPetsParams{Limit: new(2), IfNoneMatch: first.Headers200.ETag},
	)
	must(err)
	say("list unchanged", unchanged.StatusCode(), string(unchanged.Body))
	pending, err := f.as.ListPetsWithResponse(f.ctx, &api.ListPetsParams{Status: new(api.Pending)})
	must(err)
	say("list pending", pending.StatusCode(), names(*pending.JSON200))
	byID, err := f.as.ListPetsWithResponse(f.ctx, &api.ListPetsParams{Ids: &[]int64{f.mia, 4711}})
	must(err)
	say("list by ID", byID.StatusCode(), names(*byID.JSON200))
	byName, err := f.as.ListPetsWithResponse(f.ctx, &api.ListPetsParams{Name: new("Re"), CategoryId: new(int64(7))})
	must(err)
	say("list by name", byName.StatusCode(), names(*byName.JSON200))
}

func (f *flow) change() {
	got, err := f.as.GetPetWithResponse(f.ctx, f.rex, nil) //nolint:staticcheck // It is deprecated.
	must(err)
	say("get", got.StatusCode(), got.JSON200.Name, *got.Headers200.Deprecation)
	changed, err := f.as.UpdatePetWithResponse(
		f.ctx,
		f.mia,
		&api.UpdatePetParams{IfMatch: &f.etag},
		api.PetChange{CategoryId: new(int64(10))},
	)
	must(err)
	say("change", changed.StatusCode(), changed.JSON200.Name, changed.JSON200.CategoryId, *changed.JSON200.Status)
}

func (f *flow) order() {
	order, err := f.as.PlaceOrderWithResponse(f.ctx, nil, api.NewOrder{PetId: f.rex, Quantity: new(int32(1))})
	must(err)
	say("order", order.StatusCode(), order.JSON201.PetId == f.rex, order.JSON201.Quantity, order.JSON201.Status)
	approved, err := f.as.UpdateOrderWithResponse(f.ctx, order.JSON201.Id, nil, api.OrderChange{Status: api.Approved})
	must(err)
	say("approve", approved.StatusCode(), approved.JSON200.Status)
	one, err := f.as.GetOrderWithResponse(f.ctx, order.JSON201.Id, nil)
	must(err)
	say("get order", one.StatusCode(), one.JSON200.Status)
	orders, err := f.as.ListOrdersWithResponse(f.ctx, &api.ListOrdersParams{Status: new(api.Approved)})
	must(err)
	say("orders", orders.StatusCode(), len(*orders.JSON200), (*orders.JSON200)[0].Id == order.JSON201.Id)
	usage, err := f.as.GetUsageWithResponse(f.ctx, nil)
	must(err)
	say(
		"usage",
		usage.StatusCode(),
		usage.JSON200.Plan,
		usage.JSON200.Windows.Day.Limit,
		usage.JSON200.NextChange == nil,
	)
}

func (f *flow) errors() {
	wrong, err := newClient("pst_live_wrong").ListPetsWithResponse(f.ctx, nil)
	must(err)
	say("wrong key", wrong.StatusCode(), wrong.JSON401.Code)
	unknown, err := f.as.GetPetWithResponse(f.ctx, 4711, nil) //nolint:staticcheck // It is deprecated.
	must(err)
	say("unknown animal", unknown.StatusCode(), unknown.JSON404.Code)
	taken, err := f.as.PlaceOrderWithResponse(f.ctx, nil, api.NewOrder{PetId: f.rex})
	must(err)
	say("animal taken", taken.StatusCode(), taken.JSON409.Code)
	stale, err := f.as.UpdatePetWithResponse(
		f.ctx,
		f.mia,
		&api.UpdatePetParams{IfMatch: &f.etag},
		api.PetChange{Name: new("Max")},
	)
	must(err)
	say("changed meanwhile", stale.StatusCode(), stale.JSON412.Code)
	reused, err := f.as.CreatePetWithResponse(
		f.ctx,
		&api.CreatePetParams{IdempotencyKey: new("row-17")},
		api.NewPet{Name: "Max", CategoryId: 9},
	)
	must(err)
	say("key reused", reused.StatusCode(), reused.JSON422.Code)
	slow := newClient(os.Getenv("PETSTORE_SLOW_KEY"))
	limited, err := slow.ListPetsWithResponse(f.ctx, nil)
	for err == nil && limited.JSON200 != nil {
		limited, err = slow.ListPetsWithResponse(f.ctx, nil)
	}
	must(err)
	say("limited", limited.StatusCode(), limited.JSON429.Code, limited.Headers429.RetryAfter > 0)
}
