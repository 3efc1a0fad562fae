import { createTroupe } from 'troupe'
import { createHandler, toNodeListener } from 'troupe/server'
import { scriptedModel } from 'troupe/testing'

export { toNodeListener }

/** The handler of all servers of this folder; the login is a header. */
export async function create() {
  const model = scriptedModel({ rules: [{ reply: { text: 'Hello.' } }] })
  const troupe = await createTroupe({ config: false, store: process.env.STORE, model, embedder: false })
  return createHandler(troupe, {
    basePath: '/agents',
    page: process.env.PAGE !== 'no',
    authenticate: ({ headers }) => headers.get('x-user') && { name: headers.get('x-user'), scopes: ['read', 'run'] },
  })
}
