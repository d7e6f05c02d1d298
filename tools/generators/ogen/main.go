// Command ogen runs the flow with ogen's client, which validates responses.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	api "petstore.example/tools/generators/ogen/generated"
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
	as       *api.Client
	rex, mia int64
	// etag is the ETag of Mia after the animal was added. A proxy that compresses makes it weak.
	etag string
}

// apiKey gives the client the key.
type apiKey string

func (k apiKey) ApiKey(context.Context, api.OperationName) (api.ApiKey, error) {
	return api.ApiKey{Token: string(k)}, nil
}

func newClient(key string) *api.Client {
	client, err := api.NewClient(os.Getenv("PETSTORE_URL"), apiKey(key))
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// must returns the response. It ends the program if the response has another type, and so another
// status, than R.
func must[R any](res any, err error) *R {
	if err != nil {
		log.Fatal(err)
	}
	r, ok := res.(*R)
	if !ok {
		log.Fatalf("%+v, want %T", res, r)
	}
	return r
}

// say prints the result of a step of the flow.
func say(step string, got ...any) { fmt.Print(step, ": ", fmt.Sprintln(got...)) }

func names(pets []api.Pet) (all string) {
	for i, p := range pets {
		if i > 0 {
			all += ","
		}
		all += string(p.Name)
	}
	return all
}

func (f *flow) create(pet api.NewPet, idempotencyKey api.OptString) (api.CreatePetRes, error) {
	return f.as.CreatePet(f.ctx, &pet, api.CreatePetParams{IdempotencyKey: idempotencyKey})
}

func (f *flow) add() {
	rex := must[api.PetCreatedHeaders](f.create(api.NewPet{Name: "Rex", CategoryId: 7}, api.OptString{}))
	say("add", http.StatusCreated, rex.Response.Name, rex.Response.CategoryId, rex.Response.Status.Value)
	withStatus := api.NewPet{Name: "Mia", CategoryId: -8, Status: api.NewOptPetStatus(api.PetStatusPending)}
	mia := must[api.PetCreatedHeaders](f.create(withStatus, api.OptString{}))
	say("add with a status", http.StatusCreated, mia.Response.Name, mia.Response.CategoryId, mia.Response.Status.Value)
	once := api.NewPet{Name: "Tom", CategoryId: 9, Status: api.NewOptPetStatus(api.PetStatusSold)}
	tom := must[api.PetCreatedHeaders](f.create(once, api.NewOptString("row-17")))
	say("add once", http.StatusCreated, tom.Response.Name, tom.IdempotentReplayed.Set)
	again := must[api.PetCreatedHeaders](f.create(once, api.NewOptString("row-17")))
	say("add once again", http.StatusCreated, again.Response.ID == tom.Response.ID, again.IdempotentReplayed.Value)
	f.rex, f.mia, f.etag = rex.Response.ID, mia.Response.ID, strings.TrimPrefix(mia.ETag.Value, "W/")
}

func (f *flow) list() {
	first := must[api.PetPageHeaders](f.as.ListPets(f.ctx, api.ListPetsParams{Limit: api.NewOptInt(2)}))
	say("list", http.StatusOK, names(first.Response))
	last := must[api.PetPageHeaders](
		f.as.ListPets(f.ctx, api.ListPetsParams{Limit: api.NewOptInt(2), Cursor: first.XNextCursor}),
	)
	say("last page", http.StatusOK, names(last.Response), last.XNextCursor.Set)
	must[api.PageNotModified](
		f.as.ListPets(f.ctx, api.ListPetsParams{Limit: api.NewOptInt(2), IfNoneMatch: first.ETag}),
	)
	say("list unchanged", http.StatusNotModified, "")
	pending := must[api.PetPageHeaders](
		f.as.ListPets(f.ctx, api.ListPetsParams{Status: api.NewOptPetStatus(api.PetStatusPending)}),
	)
	say("list pending", http.StatusOK, names(pending.Response))
	byID := must[api.PetPageHeaders](f.as.ListPets(f.ctx, api.ListPetsParams{Ids: []int64{f.mia, 4711}}))
	say("list by ID", http.StatusOK, names(byID.Response))
	filters := api.ListPetsParams{Name: api.NewOptString("Re"), CategoryId: api.NewOptCategoryId(7)}
	byName := must[api.PetPageHeaders](f.as.ListPets(f.ctx, filters))
	say("list by name", http.StatusOK, names(byName.Response))
}

func (f *flow) change() {
	got := must[api.PetFoundHeaders](f.as.GetPet(f.ctx, api.GetPetParams{PetId: f.rex}))
	say("get", http.StatusOK, got.Response.Name, got.Deprecation.Value)
	change := api.PetChange{CategoryId: api.NewOptCategoryId(10)}
	changed := must[api.PetUpdatedHeaders](
		f.as.UpdatePet(f.ctx, &change, api.UpdatePetParams{PetId: f.mia, IfMatch: api.NewOptString(f.etag)}),
	)
	say("change", http.StatusOK, changed.Response.Name, changed.Response.CategoryId, changed.Response.Status.Value)
}

func (f *flow) order() {
	newOrder := api.NewOrder{PetId: f.rex, Quantity: api.NewOptInt32(1)}
	order := must[api.OrderPlacedHeaders](f.as.PlaceOrder(f.ctx, &newOrder, api.PlaceOrderParams{})).Response
	say("order", http.StatusCreated, order.PetId == f.rex, order.Quantity, order.Status)
	approve := api.OrderChange{Status: api.OrderStatusApproved}
	approved := must[api.OrderUpdatedHeaders](
		f.as.UpdateOrder(f.ctx, &approve, api.UpdateOrderParams{OrderId: order.ID}),
	).Response
	say("approve", http.StatusOK, approved.Status)
	one := must[api.OrderFoundHeaders](f.as.GetOrder(f.ctx, api.GetOrderParams{OrderId: order.ID})).Response
	say("get order", http.StatusOK, one.Status)
	params := api.ListOrdersParams{Status: api.NewOptOrderStatus(api.OrderStatusApproved)}
	orders := must[api.OrderPageHeaders](f.as.ListOrders(f.ctx, params)).Response
	say("orders", http.StatusOK, len(orders), orders[0].ID == order.ID)
	usage := must[api.UsageHeaders](f.as.GetUsage(f.ctx, api.GetUsageParams{})).Response
	say("usage", http.StatusOK, usage.Plan, usage.Windows.Day.Limit, usage.NextChange.IsNull())
}

func (f *flow) errors() {
	wrong := must[api.UnauthorizedHeaders](newClient("pst_live_wrong").ListPets(f.ctx, api.ListPetsParams{})).Response
	say("wrong key", wrong.Status, wrong.Code)
	unknown := must[api.PetNotFoundHeaders](f.as.GetPet(f.ctx, api.GetPetParams{PetId: 4711})).Response
	say("unknown animal", unknown.Status, unknown.Code)
	taken := must[api.OrderConflictHeaders](
		f.as.PlaceOrder(f.ctx, &api.NewOrder{PetId: f.rex}, api.PlaceOrderParams{}),
	).Response
	say("animal taken", taken.Status, taken.Code)
	late := api.UpdatePetParams{PetId: f.mia, IfMatch: api.NewOptString(f.etag)}
	stale := must[api.PreconditionFailedHeaders](
		f.as.UpdatePet(f.ctx, &api.PetChange{Name: api.NewOptPetName("Max")}, late),
	).Response
	say("changed meanwhile", stale.Status, stale.Code)
	reused := must[api.IdempotencyKeyReusedHeaders](
		f.create(api.NewPet{Name: "Max", CategoryId: 9}, api.NewOptString("row-17")),
	).Response
	say("key reused", reused.Status, reused.Code)
	slow := newClient(os.Getenv("PETSTORE_SLOW_KEY"))
	res, err := slow.ListPets(f.ctx, api.ListPetsParams{})
	for err == nil {
		if _, admitted := res.(*api.PetPageHeaders); !admitted {
			break
		}
		res, err = slow.ListPets(f.ctx, api.ListPetsParams{})
	}
	limited := must[api.TooManyRequestsHeaders](res, err)
	say("limited", limited.Response.Status, limited.Response.Code, limited.RetryAfter > 0)
}
