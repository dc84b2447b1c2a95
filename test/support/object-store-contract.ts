// What every place for a shared vault must do.
import { expect } from 'vitest'
import type { ObjectStore } from '../../src/store/objects/object-store.ts'

export async function checkObjectStore(objects: ObjectStore): Promise<void> {
  expect(await objects.list('')).toEqual([])
  const bytes = Buffer.from([0, 255, 10, 13, 0, 128])
  for (const name of ['a/00000001.pack/000000000000', 'a/key.json', 'ab/x', 'b/c'])
    await objects.put(name, Buffer.concat([bytes, Buffer.from(name)]))
  const named = async (prefix: string): Promise<string[]> =>
    (await objects.list(prefix)).map(({ name }) => name).sort()
  expect(await named('a/')).toEqual(['a/00000001.pack/000000000000', 'a/key.json'])
  expect(await named('')).toHaveLength(4)
  expect((await objects.get('ab/x')).equals(Buffer.concat([bytes, Buffer.from('ab/x')]))).toBe(true)
  await objects.put('ab/x', bytes)
  expect(await objects.list('ab/')).toEqual([{ name: 'ab/x', bytes: bytes.length }])
  await objects.remove('b/c')
  await objects.remove('b/c')
  expect(await named('b/')).toEqual([])
  await expect(objects.get('b/c')).rejects.toThrow('b/c')
}
