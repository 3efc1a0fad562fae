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
