// Command openapi-generator adds an animal with openapi-generator's client, and lists it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	api "petstore.example/tools/generators/openapi-generator/generated"
)

func main() {
	log.SetFlags(0)
	config := api.NewConfiguration()
	config.Servers = api.ServerConfigurations{{URL: os.Getenv("PETSTORE_URL")}}
	client := api.NewAPIClient(config)
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, os.Getenv("PETSTORE_API_KEY"))
	rex := api.NewPetToAdd("Rex", 7)
	added, _, err := client.PetsAPI.CreatePet(ctx).PetToAdd(*rex).IdempotencyKey("row-1").Execute()
	if err != nil {
		log.Fatal(err)
	}
	list, answer, err := client.PetsAPI.ListPets(ctx).Ids([]int64{added.Id}).Limit(1).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("list:", answer.StatusCode, list[0].Name, list[0].GetStatus())
}
