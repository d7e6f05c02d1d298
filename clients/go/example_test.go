package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"petstore.example/client"
)

func Example() {
	api := newSampleAPI() // in place of https://api.example.com
	defer api.Close()

	ctx := context.Background()
	store, err := client.New(api.URL+"/v1", "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm")
	if err != nil {
		fmt.Println(err)
		return
	}
	pet, err := store.CreatePet(ctx, client.NewPet{Name: "Rex", CategoryID: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("added", pet.ID, pet.Status)

	for pet, err := range store.Pets(ctx, client.ListPetsParams{Status: client.PetAvailable}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pet.ID, pet.Name)
	}
	// Output:
	// added 4 available
	// 1 Luna
	// 3 Milo
	// 4 Rex
}

func ExampleClient_ListPets() {
	api := newSampleAPI()
	defer api.Close()
	store := newSampleClient(api)

	page, err := store.ListPets(context.Background(), client.ListPetsParams{Limit: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, pet := range page.Pets {
		fmt.Println(pet.ID, pet.Name, pet.Status)
	}
	fmt.Println("the next page begins at", page.NextCursor)
	fmt.Println(page.Rate.Remaining, "of", page.Rate.Limit, "requests left")
	// Output:
	// 1 Luna available
	// 2 Oscar sold
	// the next page begins at 0000000000000002
	// 299 of 300 requests left
}

// Ask for a page again and get it only if it has changed.
func ExampleClient_ListPets_conditional() {
	api := newSampleAPI()
	defer api.Close()
	store := newSampleClient(api)

	params := client.ListPetsParams{Status: client.PetAvailable}
	page, err := store.ListPets(context.Background(), params)
	if err != nil {
		fmt.Println(err)
		return
	}
	params.IfNoneMatch = page.ETag
	again, err := store.ListPets(context.Background(), params)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.NotModified)
	// Output: true
}

// A key of your own makes it safe to call again at any time within 24 hours, also from another
// process.
func ExampleIdempotencyKey() {
	api := newSampleAPI()
	defer api.Close()
	store := newSampleClient(api)

	for range 2 {
		var res client.Response
		pet, err := store.CreatePet(context.Background(), client.NewPet{Name: "Rex", CategoryID: 7},
			client.IdempotencyKey("import-row-17"), client.CaptureResponse(&res))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(pet.ID, res.Replayed)
	}
	// Output:
	// 4 false
	// 4 true
}

func ExampleError() {
	api := newSampleAPI()
	defer api.Close()
	store := newSampleClient(api)

	_, err := store.UpdatePet(context.Background(), 2, client.PetPatch{Status: new(client.PetAvailable)})

	if errors.Is(err, client.CodeInvalidTransition) {
		fmt.Println("sold is final")
	}
	var e *client.Error
	if errors.As(err, &e) {
		fmt.Println(e.Status, e.Message)
	}
	// Output:
	// sold is final
	// 409 The animal is sold, which is final.
}

func ExampleNew() {
	_, err := client.New("https://api.example.com/v1", "pst_test_Zb7Q0mKxT4vL9sWcR2yNfHjD8aPuGe1dNUMm",
		client.WithHTTPClient(&http.Client{Timeout: 10 * time.Second}),
		client.WithUserAgent("acme-sync/2.1"),
		client.WithMaxRetries(5),
		client.WithMaxWait(2*time.Minute))
	fmt.Println(err)
	// Output: <nil>
}
