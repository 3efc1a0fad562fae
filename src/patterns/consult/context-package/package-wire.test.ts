import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createWireRecorder, formatWireRequest } from '../../../../test/golden/wire-recorder.ts'
import { noopTool } from '../../../../test/support/collaboration.ts'
import type { PlantedSecret } from '../../../../test/support/planted-secrets.ts'
import { plantedSecrets } from '../../../../test/support/planted-secrets.ts'
import { agent } from '../../../../test/support/test-troupe.ts'
import type { Context } from '../../../entries/patterns.ts'
import { definePattern } from '../../../entries/patterns.ts'
import { UNKNOWN_PROFILE } from '../../../formats/project-profile/project-profile.ts'
import type { Tool } from '../../../index.ts'
import { createTroupe } from '../../../index.ts'
import * as z from '../../../schema/zod.ts'
import { buildContextPackage } from './build-context-package.ts'
import type { PackageMaterial } from './compose-package.ts'
import { composePackage } from './compose-package.ts'
import { formatContextPackage } from './package-prompt.ts'
import type { PackageRequest } from './request-candidates.ts'

/* What goes over the wire to a specialist. Each text has a marker, so that a package which leaves everything out would fail, too. */

const QUESTION = 'Which marker belongs to the payment gateway?'

/** The places from which a text can get into a package. */
type Place = 'question' | 'snippet' | 'error' | 'tool_result' | 'file' | 'document' | 'past'
const PLACES: readonly Place[] = ['question', 'snippet', 'error', 'tool_result', 'file', 'document', 'past']

const markedText = ({ text }: PlantedSecret, index: number) => `payment gateway marker-${index}-end\n${text}\n`
const found = (text: string) => [
  { document: { id: 'd', text, data: { question: 'payment?', answer: text } }, score: 0.9 },
]

function placed(place: Place, text: string): { request: PackageRequest; more: Partial<PackageMaterial> } {
  const question = place === 'question' ? `${QUESTION}\n${text}` : QUESTION
  const context = {
    ...(place === 'snippet' ? { code_snippets: [{ path: 'a.txt', text }] } : undefined),
    ...(place === 'error' ? { error_messages: [text] } : undefined),
  }
  const more = { documents: place === 'document' ? found(text) : [], similar: place === 'past' ? found(text) : [] }
  return { request: { collaboration_id: 'c', requesting_agent: 'asker', question, context }, more }
}

/** A run in which `asker` reads a file or calls a tool, and its question goes to `expert`. Returns the request to the expert. */
async function specialistRequest(place: Place, text: string): Promise<string> {
  const { request, more } = placed(place, text)
  const ask = definePattern({
    name: 'ask_expert',
    description: 'asks',
    version: 1,
    category: 'task_management',
    input: z.object({}),
    output: z.unknown(),
    delegation: { self: 'refuse', cycles: 'allow' },
    async execute(context: Context) {
      const material = {
        request,
        agent: 'expert',
        reason: 'requirements',
        similar: [],
        documents: [],
        profile: UNKNOWN_PROFILE,
        ...more,
      }
      const messages = context.caller?.messages ?? []
      const built = await context.step('package', () =>
        composePackage({ ...material, messages, budget_tokens: 50_000 }),
      )
      await context.perform(
        context.roster.get('expert'),
        { instruction: formatContextPackage(built) },
        { key: 'expert' },
      )
      return { success: true, output: null }
    },
  })
  const read: Tool = {
    ...noopTool('Read', 'read'),
    input: z.object({ file_path: z.string() }),
    execute: () => ({ success: true, output: text }),
  }
  const fetchTool: Tool = { ...noopTool('Fetch', 'read'), execute: () => ({ success: true, output: text }) }
  const readCall = { call: { name: 'Read', arguments: '{"file_path":"gateway.txt"}' } }
  const fetchCall = { call: { name: 'Fetch', arguments: '{}' } }
  const model = createWireRecorder({
    asker: [
      ...(place === 'file' ? [readCall] : place === 'tool_result' ? [fetchCall] : []),
      { call: { name: 'ask_expert', arguments: '{}' } },
      'Done.',
    ],
  })
  const troupe = await createTroupe({
    config: false,
    store: 'memory',
    model,
    agents: [agent('asker'), agent('expert', { tools: [] })],
    tools: [read, fetchTool],
    patterns: [ask],
    // The package redacts by itself.
    redact: false,
    embedder: false,
  })
  try {
    await troupe.run('task', { agent: 'asker', instruction: 'Fix the payment gateway.' })
    return JSON.stringify(model.requestOf('expert'))
  } finally {
    await troupe.close()
  }
}

test.each(PLACES)(
  'CP10 no planted secret leaves a package through its %s, and the text around it does',
  async (place) => {
    // Few enough for a question, which gets half of the budget.
    for (let first = 0; first < plantedSecrets.length; first += 40) {
      const batch = plantedSecrets.slice(first, first + 40)
      const body = await specialistRequest(
        place,
        batch.map((each, index) => markedText(each, first + index)).join('\n'),
      )
      batch.forEach(({ secrets }, index) => {
        expect(body).toContain(`marker-${first + index}-end`)
        for (const secret of secrets)
          expect(body.includes(JSON.stringify(secret).slice(1, -1)), `${secret} in ${place}`).toBe(false)
      })
    }
  },
)

test.each(PLACES)('CP10 personal data in the %s does not leave', async (place) => {
  const body = await specialistRequest(
    place,
    'payment gateway marker of ann.lee@contoso.com, +49 30 901820, DE89370400440532013000',
  )
  expect(body).toContain('[redacted: email], [redacted: phone], [redacted: iban]')
  expect(body).not.toMatch(/ann\.lee|901820|DE8937/)
})

test('CP10 a secret that is cut in the middle does not leave', async () => {
  const key = `-----BEGIN RSA PRIVATE KEY-----\n${'MIIEowIBAAKCAQEA7Zz1\n'.repeat(2000)}-----END RSA PRIVATE KEY-----`
  const body = await specialistRequest('file', `payment gateway marker\n${key}\npayment gateway marker end`)
  expect(body).toContain('payment gateway marker')
  expect(body).not.toContain('MIIEow')
})

test('the request to a specialist goes over the wire as committed', async () => {
  const model = createWireRecorder({})
  const material: PackageMaterial = {
    request: {
      collaboration_id: 'c-1',
      requesting_agent: 'frontend_developer',
      question: 'What does POST /users return on a conflict?',
      context: {
        current_task: 'Build the sign-up form',
        specific_concern: 'Which status code may I rely on?',
        attempted_approaches: ['Read the API docs'],
        error_messages: ['409 Conflict'],
        code_snippets: [{ path: 'src/form.ts', text: 'const response = await post("/users", data)' }],
      },
    },
    agent: 'backend_developer',
    reason: 'api_clarification',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'POST /users must never return the password of a user.' }] },
    ],
    profile: {
      project_type: 'web application',
      tech_stack: ['TypeScript', 'Express'],
      architecture_decisions: [
        { title: 'Conflicts of users return the existing id', path: 'docs/adr/7.md', summary: 'POST returns 409.' },
      ],
      best_practices: [{ for: 'backend_developer', text: 'Document every status code.' }],
      source: 'detected',
    },
    documents: [],
    similar: [
      {
        document: { id: 'p', text: '', data: { question: 'What does PUT return?', answer: '204.', success_rating: 5 } },
        score: 0.8,
      },
    ],
    budget_tokens: 2500,
  }
  const troupe = await createTroupe({
    config: false,
    store: 'memory',
    model,
    agents: [agent('expert', { tools: [] })],
    embedder: false,
  })
  await troupe.run('task', { agent: 'expert', instruction: formatContextPackage(await composePackage(material)) })
  await troupe.close()
  const file = new URL('specialist-request.golden.txt', import.meta.url)
  const text = formatWireRequest(model.requestOf('expert'))
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, 'utf8'))
})

test('J8 a resumed run sends the recorded package, whatever has changed since', async () => {
  let documents = 'first'
  const packages: string[] = []
  const asks = definePattern({
    name: 'asks',
    description: 'asks',
    version: 1,
    category: 'task_management',
    only: 'run',
    input: z.object({}),
    output: z.string(),
    async execute(context: Context) {
      const request = {
        collaboration_id: 'c',
        requesting_agent: 'user',
        question: `What is ${documents}?`,
        context: {},
      }
      const built = await buildContextPackage(context, {
        request,
        agent: 'expert',
        reason: 'r',
        similar: [],
        config: {},
        key: 'package',
      })
      packages.push(built.question)
      await context.ask('go', { question: 'Go on?' })
      return { success: true, output: built.question }
    },
  })
  const troupe = await createTroupe({
    config: false,
    store: 'memory',
    model: createWireRecorder({}),
    patterns: [asks],
    embedder: false,
  })
  const first = await troupe.run('asks', {})
  documents = 'second'
  const { output } = await (await troupe.answer(first.gates[0]?.gate_id ?? '', 'yes')).result
  await troupe.close()
  expect(output).toBe('What is first?')
  expect(packages).toEqual(['What is first?', 'What is first?'])
})
