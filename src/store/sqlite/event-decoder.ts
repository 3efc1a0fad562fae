import type { BlobTable } from './blob-table.ts'
import type { CompiledTemplate } from './compiled-template.ts'
import { compileTemplate } from './compiled-template.ts'
import type { StringDictionary } from './string-dictionary.ts'
import type { BackRef, BlobRef } from './value-refs.ts'
import { isBackRef, missingValue, parseRefs } from './value-refs.ts'

/** The columns of an event row that encode its type and data. */
export interface DataRecord {
  word: number
  data: string
  refs: string | null
}

interface DataRun {
  id: number
  project: string
}

export interface DecodingContext {
  /** The blob of this field is not loaded. */
  omittedField: string | undefined
  /** The `data` column of another event of the run. */
  referencedData(run: number, seq: number): string | undefined
}

interface TypedTemplate {
  type: string
  template: CompiledTemplate
}

/** Reverses `encodeEvent`. */
export class EventDecoder {
  readonly #dictionary: StringDictionary
  readonly #blobs: BlobTable
  readonly #templates = new Map<number, TypedTemplate>()

  constructor(dictionary: StringDictionary, blobs: BlobTable) {
    this.#dictionary = dictionary
    this.#blobs = blobs
  }

  decode(record: DataRecord, run: DataRun, context: DecodingContext): { type: string; data: unknown } {
    if (!record.data.startsWith('['))
      return { type: this.#dictionary.stringFor(record.word), data: this.#decodeObject(record, run, context) }
    const { type, template } = this.#templateFor(record.word)
    return { type, data: template.fill(this.#slotValues(record, run, { ...context, template })) }
  }

  /** Drops cached templates after a rollback: their dictionary ids may be assigned to other descriptors. */
  clear(): void {
    this.#templates.clear()
  }

  #decodeObject({ data, refs }: DataRecord, { project }: DataRun, { omittedField }: DecodingContext): unknown {
    const fields: unknown = JSON.parse(data)
    for (const ref of parseRefs(refs)) {
      if (isBackRef(ref) || ref[0] === omittedField) continue
      // Prevents prototype pollution: assigning to a field named __proto__ would set the prototype and lose the value.
      Object.defineProperty(fields, ref[0], {
        value: this.#loadBlob(project, ref),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return fields
  }

  #slotValues(record: DataRecord, run: DataRun, context: DecodingContext & { template: CompiledTemplate }): unknown[] {
    const values = JSON.parse(record.data) as unknown[]
    if (record.refs === null) return values
    const omittedSlot = context.omittedField === undefined ? -1 : context.template.slotIndex(context.omittedField)
    for (const ref of parseRefs(record.refs)) {
      if (isBackRef(ref)) values[ref[0]] = this.#resolveBackRef(run.id, ref, context)
      else if (ref[0] !== omittedSlot) values[Number(ref[0])] = this.#loadBlob(run.project, ref)
    }
    return values
  }

  /** A back-reference points at the value itself, never at another reference. */
  #resolveBackRef(run: number, ref: BackRef, context: DecodingContext): unknown {
    const data = context.referencedData(run, ref[1])
    return data === undefined ? missingValue(ref) : (JSON.parse(data) as unknown[])[ref[2]]
  }

  #loadBlob(project: string, ref: BlobRef): unknown {
    const bytes = this.#blobs.load(project, ref[1])
    if (!bytes) return missingValue(ref)
    try {
      return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString())
    } catch {
      return missingValue(ref)
    }
  }

  #templateFor(word: number): TypedTemplate {
    const known = this.#templates.get(word)
    if (known) return known
    const descriptor = this.#dictionary.stringFor(word)
    const end = descriptor.indexOf(' ')
    const typed = { type: descriptor.slice(0, end), template: compileTemplate(descriptor.slice(end + 1)) }
    this.#templates.set(word, typed)
    return typed
  }
}
