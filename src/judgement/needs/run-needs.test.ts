import { expect, test } from 'vitest'
import type { HostParts, RunNeeds } from './run-needs.ts'
import { compareNeeds, formatParts, requireNeeds } from './run-needs.ts'

const started_by = { program: 'app.ts', folder: '/srv/app', host: 'web1' }
const names = (...list: string[]) => list.map((name) => ({ name }))
const missing = (needs: HostParts, provided: HostParts) =>
  compareNeeds({ started_by, ...needs }, provided).missing.map(({ kind, name }) => `${kind} ${name}`)

test.each([
  ['tools', 'pay'],
  ['workspace', 'Bash'],
  ['hooks', 'beforeTool'],
  ['servers', 'files'],
  ['patterns', 'review'],
  ['agents', 'clerk'],
  ['performers', 'external'],
  ['models', 'general'],
] as const)('ND2 a process without a part of %s lacks it, and one with more parts lacks nothing', (kind, name) => {
  const models = { models: [] }
  expect(missing({ [kind]: names(name) }, { ...models, [kind]: names('other') })).toEqual([`${kind} ${name}`])
  expect(missing({ [kind]: names(name) }, models)).toEqual([`${kind} ${name}`])
  expect(missing({ [kind]: names(name) }, { ...models, [kind]: names('other', name) })).toEqual([])
})

test('ND4 a part with another hash has changed and is not missing', () => {
  const needs: RunNeeds = { started_by, tools: [{ name: 'pay', hash: 'a' }], agents: [{ name: 'clerk', hash: 'b' }] }
  const provided = { tools: [{ name: 'pay', hash: 'c' }], agents: [{ name: 'clerk', hash: 'b' }] }
  expect(compareNeeds(needs, provided)).toMatchObject({
    missing: [],
    changed: [{ kind: 'tools', name: 'pay' }],
    started_by,
  })
})

test('ND4 a journal without needs needs nothing', () => {
  expect(compareNeeds(undefined, {})).toEqual({ missing: [], unused: [], changed: [], started_by: null })
})

test('ND5 a hook with a name must be there under its name, and one without at its hook point, as often', () => {
  const hooks = (...list: string[]) => ({ hooks: names(...list) })
  expect(missing(hooks('beforeTool:guard'), hooks('beforeTool'))).toEqual(['hooks beforeTool:guard'])
  expect(missing(hooks('beforeTool:guard'), hooks('onEvent:guard'))).toEqual(['hooks beforeTool:guard'])
  expect(missing(hooks('beforeTool', 'beforeTool'), hooks('beforeTool'))).toEqual(['hooks beforeTool'])
  expect(missing(hooks('beforeTool', 'beforeTool'), hooks('beforeTool', 'beforeTool:guard'))).toEqual([])
  expect(missing(hooks('beforeTool:guard', 'beforeTool'), hooks('beforeTool:guard'))).toEqual(['hooks beforeTool'])
  expect(missing(hooks('beforeTool:guard', 'beforeTool'), hooks('beforeTool'))).toEqual(['hooks beforeTool:guard'])
})

test('ND4 where any name may be a model, models are not compared', () => {
  expect(missing({ models: names('general') }, {})).toEqual([])
})

test('ND2 the error names the parts, by kind, and the program that started the run', () => {
  const workspace = names('Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LSP')
  const { missing: parts } = compareNeeds({ started_by, tools: names('__proto__'), workspace }, {})
  expect(formatParts(parts)).toBe('tool __proto__; workspace tools Read, Write, Edit, Glob, Grep, Bash and 1 more')
  expect(() => requireNeeds('r_1', compareNeeds({ started_by, tools: names('pay') }, {}))).toThrow(
    expect.objectContaining({
      code: 'needs_missing',
      message: 'this process lacks what run r_1 needs: tool pay',
      hint: expect.stringContaining('app.ts in /srv/app on web1'),
      alternatives: ['pay'],
    }),
  )
  expect(() => requireNeeds('r_1', compareNeeds({ started_by, agents: names('slow') }, {}))).toThrow(
    expect.objectContaining({ hint: expect.stringMatching(/or with --agents FOLDER; .*troupe agents check$/) }),
  )
})
