import { existsSync, readFileSync } from 'node:fs'

export interface StarterFile {
  path: string
  text: string
}

const ASK: StarterFile = {
  path: 'ask.mts',
  text: `// Run it: node ask.mts "What is a good name for a cat?"
import { createTroupe } from 'troupe'

const troupe = await createTroupe()
try {
  const instruction = process.argv[2] ?? 'Say hello.'
  const { output } = await troupe.run('task', { agent: 'default', instruction })
  console.log(output?.response)
} finally {
  await troupe.close()
}
`,
}

const handler = (exports: string) => `import type { Troupe } from 'troupe'
import { createTroupe } from 'troupe'
import { createHandler } from 'troupe/server'

// One troupe per process, also where the server loads this module again after a change.
const kept = globalThis as { troupe?: Promise<Troupe> }
kept.troupe ??= createTroupe()

${exports} = createHandler(await kept.troupe, {
  basePath: '/agents',
  // Nobody may call until you say who does: return { name, scopes: ['read', 'run'] } for a user of yours.
  authenticate: async () => null,
})
`

/** A first program, and a handler where the project has Next.js or Hono. */
export function starterPrograms(): StarterFile[] {
  const { dependencies = {}, devDependencies = {} } = readPackage()
  const has = (name: string) => name in dependencies || name in devDependencies
  const app = ['src/app', 'app'].find((folder) => existsSync(folder))
  if (has('next') && app !== undefined) {
    const route = `${handler('const handler')}\nexport { handler as GET, handler as POST, handler as OPTIONS }\n`
    return [ASK, { path: `${app}/agents/[[...path]]/route.ts`, text: route }]
  }
  if (!has('hono')) return [ASK]
  const mount = "// In your application: app.all('/agents/*', (c) => handler(c.req.raw))\n"
  return [
    ASK,
    { path: `${existsSync('src') ? 'src/' : ''}agents-handler.ts`, text: mount + handler('export const handler') },
  ]
}

function readPackage(): { dependencies?: object; devDependencies?: object } {
  try {
    return JSON.parse(readFileSync('package.json', 'utf8')) ?? {}
  } catch {
    // Without a package, or with one that npm cannot read either, there is no framework to find.
    return {}
  }
}
