// If the browser denies storage, such as to frames, nothing is stored.
type Store = () => Storage;
export const sessionStore: Store = () => sessionStorage;
export const localStore: Store = () => localStorage;

export function kept(store: Store, name: string): string | null {
  try {
    return store().getItem(name);
  } catch {
    return null;
  }
}

export function keep(store: Store, name: string, value: string) {
  try {
    store().setItem(name, value);
  } catch {}
}

export function drop(store: Store, name: string) {
  try {
    store().removeItem(name);
  } catch {}
}
