import { expect, test } from 'vitest'
import type { PermissionRequest } from '../kernel/permission.ts'
import { createPermissions } from './permissions.ts'

const policy = { ask: ['Grep', 'Glob'], deny: ['Read(.env*)', 'Grep(secrets/**)'] }
const permissions = createPermissions(policy, { aliases: new Map(), agentTools: [], agents: [] })

function search(tool: 'Grep' | 'Glob', options: Partial<PermissionRequest>): PermissionRequest {
  return {
    agent: { name: 'searcher', description: '', instructions: '' },
    inheritedRules: [],
    tool,
    subject: '.',
    acts: false,
    read_only: false,
    isRootAgent: false,
    runRules: undefined,
    grantedRules: [],
    fingerprint: 'f1',
    ...options,
  }
}

test('PM29 a search that needs approval keeps the globs of denied files', () => {
  expect(permissions.decide(search('Grep', {}))).toMatchObject({
    decision: 'ask',
    excludedGlobs: ['.env*', 'secrets/**'],
  })
})

test('PM29 a search that a granted rule allows still skips denied files', () => {
  for (const grantedRules of [['Grep'], ['Grep(.)'], ['=f1']])
    expect(permissions.decide(search('Grep', { grantedRules }))).toMatchObject({
      decision: 'allow',
      excludedGlobs: ['.env*', 'secrets/**'],
    })
  for (const grantedRules of [['Glob'], ['=f1']])
    expect(permissions.decide(search('Glob', { grantedRules }))).toMatchObject({
      decision: 'allow',
      excludedGlobs: ['.env*'],
    })
})

test('PM29 a granted rule does not open a denied folder to a search', () => {
  expect(permissions.decide(search('Grep', { subject: 'secrets/keys', grantedRules: ['Grep'] }))).toMatchObject({
    decision: 'deny',
  })
})

test('PM50 a resumed run keeps what it was allowed at its start; rules of the current policy that ask or deny, and a stricter mode, still win', () => {
  const start = { mode: 'ask', allow: ['Write(notes/*)'] }
  const decide = (current: object, subject = 'notes/a.txt', runRules: object = start) => {
    const request = { ...search('Grep', { runRules }), tool: 'Write', subject, acts: true }
    return createPermissions(current, { aliases: new Map(), agentTools: [], agents: [] }).decide(request).decision
  }
  expect(decide({ mode: 'ask' })).toBe('allow')
  expect(decide({ mode: 'ask' }, 'src/a.ts')).toBe(decide(start, 'src/a.ts'))
  expect(decide({ mode: 'ask', allow: ['Write(src/*)'] })).not.toBe('allow')
  expect(decide({ mode: 'ask' }, 'notes/a.txt', { mode: 'ask' })).toBe('ask')
  expect(decide({ mode: 'ask', ask: ['Write'] })).toBe('ask')
  expect(decide({ mode: 'ask', deny: ['Write(notes/a.txt)'] })).toBe('deny')
  expect(decide({ mode: 'read' })).toBe('deny')
})
