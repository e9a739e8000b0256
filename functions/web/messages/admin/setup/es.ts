import type { SetupMessages } from "./en.ts";

export const es: SetupMessages = {
  title: "Configurar esta instalación",
  intro: "Crea la primera organización y la cuenta de su propietario.",
  token: "Token de configuración",
  tokenHint: "npm start lo muestra. En un servidor es el valor de SETUP_TOKEN.",
  tokenWrong: "Este no es el token de esta instalación.",
  owner: "Tu cuenta",
  signedInAs: (name: string) => `Has iniciado sesión como ${name} y serás el propietario.`,
  organization: "Organización",
  name: "Nombre de la organización",
  slug: "Nombre corto en las direcciones",
  slugHint: "Minúsculas, cifras y guiones, por ejemplo acme.",
  visibility: "Quién ve el tablero",
  visibilities: { public: "Todos", private: "Solo el equipo" },
  submit: "Crear la organización",
  welcome: "Tu tablero está listo",
  welcomeText: "Lo que los equipos hacen después:",
  steps: {
    board: "Ver tu tablero",
    general: "Elegir nombre, zona horaria y aprobación",
    apiKeys: "Crear una clave de API para tu backend",
    people: "Invitar a tu equipo",
    surveys: "Preguntar con una encuesta",
    import: "Traer opiniones de otro lugar",
  },
};
