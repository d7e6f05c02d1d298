// Verifies webhooks with the library of Standard Webhooks, and prints a line of each.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.SECRET);
const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    const event = webhook.verify(Buffer.concat(chunks), request.headers);
    console.log(`${request.headers["webhook-id"]} ${event.type} ${event.data.id} ${event.data.name}`);
    response.writeHead(204).end();
  } catch (error) {
    response.writeHead(400).end(error.message);
  }
});
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
